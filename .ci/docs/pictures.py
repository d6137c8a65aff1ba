"""Makes the drawings of the README and the documentation site: ``python .ci/docs/pictures.py``, from the root.

- ``docs/images/forest.svg``: a verified forest of a recorded decode.
- ``docs/images/decode.svg``: the whole of that decode as one tree.
- ``docs/images/verification.svg``: the same forest, step by step.
"""

import re
import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import visualize  # noqa: E402 - the package of this clone

TRACE = ROOT / "assets" / "traces" / "1-dynamic-width.json.gz"
IMAGES = ROOT / "docs" / "images"
SENTENCE_ROOM = 44
"""Height below the forest for the step's sentence, in SVG units."""
LETTERS = 135
"""Letters in a line of the sentence."""
SECONDS = {"draft": 1.0, "score": 1.6, "width": 1.4, "trial": 0.5, "draw": 0.5, "layer": 1.0, "commit": 4.0}
"""How long a step is shown, by its phase."""


def main() -> None:
    """Write all drawings."""
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "verification.svg").write_text(verification(), encoding="utf-8")
    (IMAGES / "forest.svg").write_text(visualize.forest_svg(TRACE), encoding="utf-8")
    (IMAGES / "decode.svg").write_text(visualize.decode_svg(TRACE), encoding="utf-8")


def verification() -> str:
    """Return an animated SVG with each part once, shown in the frames that have it; still for reduced motion."""
    steps = visualize.scene(TRACE).iterations[0].steps
    frames = [visualize.forest_svg(TRACE, 0, step=step).splitlines() for step in range(len(steps))]
    width, height = (int(size) for size in re.search(r'width="(\d+)" height="(\d+)"', frames[0][0]).groups())
    times, end = [], 0.0
    for step in steps:
        times.append(end)
        end += SECONDS[step.phase]
    parts = _parts([_groups(frame) for frame in frames])
    parts += [([number], _sentence(step.sentence, height)) for number, step in enumerate(steps)]
    rules: dict[str, str] = {}
    body = []
    for shown, part in parts:
        names = [_rule(first, last, times, end, rules) for first, last in _runs(shown)]
        last = " last" if shown[-1] == len(steps) - 1 else ""
        if [0, len(steps) - 1] == [shown[0], shown[-1]] and len(shown) == len(steps):
            body.append(part)
        else:
            body += [f'<g class="part {name}{last if number == len(names) - 1 else ""}">{part}</g>'
                     for number, name in enumerate(names)]  # fmt: skip
    size = f'width="{width}" height="{height + SENTENCE_ROOM}" viewBox="0 0 {width} {height + SENTENCE_ROOM}"'
    style = (
        f".part{{opacity:0;animation:{end:.1f}s step-end infinite}}"
        + "".join(rules.values())
        + "@media(prefers-reduced-motion:reduce){.part{animation:none!important}.last{opacity:1}}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = "<title>A draft forest is verified, step by step</title>"
    return "\n".join([head, title, f"<style>{style}</style>", *frames[0][2:4], *body, "</g>", "</svg>", ""])


def _groups(frame: list[str]) -> list[str]:
    """Return the parts of a frame between its background and its end: lines or groups of lines."""
    parts, open_group = [], []
    for line in frame[4:-2]:
        open_group.append(line)
        text = "".join(open_group)
        if text.count("<g") == text.count("</g>"):
            parts.append(text)
            open_group = []
    return parts


def _parts(frames: list[list[str]]) -> list[tuple[list[int], str]]:
    """Return every distinct part with its frames, in drawing order: edges below nodes."""
    found: dict[tuple[int, str], list[int]] = {}
    for number, frame in enumerate(frames):
        for part in frame:
            found.setdefault((_floor(part), part), []).append(number)
    return [(shown, part) for (_, part), shown in sorted(found.items(), key=lambda entry: entry[0][0])]


def _floor(part: str) -> int:
    """Return the drawing order of a part: 0 for layers, 1 for edges, 2 for nodes and the legend."""
    return 0 if "<rect" in part else 1 if part.startswith("<path") and "transform" not in part else 2


def _runs(shown: list[int]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive frames, as first and last."""
    runs: list[tuple[int, int]] = []
    for number in shown:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _rule(first: int, last: int, times: list[float], end: float, rules: dict[str, str]) -> str:
    """Return the name of the animation that shows a part from one frame to another; add its rule once."""
    name = f"s{first}_{last}"
    if name not in rules:
        start = 100 * times[first] / end
        stop = 100 * times[last + 1] / end if last + 1 < len(times) else None
        keys = "" if start == 0 else "0%{opacity:0}"
        keys += f"{start:.3f}%{{opacity:1}}" + ("" if stop is None else f"{stop:.3f}%{{opacity:0}}")
        keys += f"100%{{opacity:{1 if stop is None else 0}}}"
        rules[name] = f".{name}{{animation-name:{name}}}@keyframes {name}{{{keys}}}"
    return name


def _sentence(sentence: str, height: int) -> str:
    """Return the step's sentence below the forest, in two lines if one is too short."""
    lines = "".join(
        f'<tspan x="24" y="{height + 18 + 19 * row}">{escape(line)}</tspan>'
        for row, line in enumerate(textwrap.wrap(sentence, LETTERS))
    )
    return f'<text font-size="14" fill="#22272e">{lines}</text>'


if __name__ == "__main__":
    main()
