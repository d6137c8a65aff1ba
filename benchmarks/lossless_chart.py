"""Draws the chart of ``lossless_lab.py`` as SVG: expected counts with their spread, observed counts on top."""

import math

LEFT, WIDTH, ROW, TOP = 236, 560, 26, 52
"""Pixels of the names, the bars, one outcome and the legend."""
SPREAD, TICK = "#98a1ac", "#5b6470"
MARKS = {
    "dsbd": ("DSBD", "#00704f", "#00704f", "M-5,0A5,5,0,1,1,5,0A5,5,0,1,1,-5,0Z"),
    "accept_all": ("every guess accepted", "#a8430a", "none", "M-5,-5L5,5M-5,5L5,-5"),
}
"""The label, stroke, fill and shape of each decoder."""


def chart(rows: list[dict], runs: int) -> str:
    """Draw a row per outcome: a band of two standard deviations, a tick at the expected count, a mark per decoder."""
    scale = WIDTH / max(row[name] for row in rows for name in ("expected", *MARKS))
    parts = list(_legend())
    for at, row in enumerate(rows):
        y, expected = TOP + at * ROW, row["expected"]
        spread = 2 * math.sqrt(expected * (1 - expected / runs))
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{row["outcome"]}</text>')
        parts.append(_line(f"M{LEFT + scale * (expected - spread):.1f},{y}h{2 * scale * spread:.1f}", SPREAD, 8))
        parts.append(_line(f"M{LEFT + scale * expected:.1f},{y - 8}v16", TICK, 2))
        parts += [_mark(name, LEFT + scale * row[name], y) for name in MARKS]
    height = TOP + ROW * len(rows)
    box = f'viewBox="0 0 830 {height}" width="830" height="{height}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img"><title>Counts of the likeliest outcomes</title>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<g font-family="ui-sans-serif, system-ui, DejaVu Sans, sans-serif" font-size="12" fill="#22272e">',
    ]
    return "\n".join([*head, *parts, "</g></svg>", ""])


def _legend():
    yield _line("M16,18h22", SPREAD, 8)
    yield _line("M27,10v16", TICK, 2)
    yield '<text x="46" y="22">expected ± 2 standard deviations</text>'
    x = 290
    for name, (label, *_) in MARKS.items():
        yield _mark(name, x, 18)
        yield f'<text x="{x + 12}" y="22">{label}</text>'
        x += 90


def _line(path: str, color: str, width: int) -> str:
    return f'<path d="{path}" stroke="{color}" stroke-width="{width}"/>'


def _mark(name: str, x: float, y: float) -> str:
    _, stroke, fill, path = MARKS[name]
    return f'<path d="{path}" transform="translate({x:.1f},{y})" stroke="{stroke}" stroke-width="2" fill="{fill}"/>'
