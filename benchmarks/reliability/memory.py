"""The memory of the page's process over many runs, as numbers and as a chart."""

import gc
from pathlib import Path

from gradio_client import Client

EVERY = 10
"""Runs between two looks at the memory."""


def memory(address: str, runs: int) -> list[tuple[int, float]]:
    """Resident memory in MiB after every few runs."""
    client, seen = Client(address, verbose=False), []
    for run in range(runs):
        client.predict("Once upon", {"max_new_tokens": 10, "seed": run}, api_name="/decode")
        if run % EVERY == 0:
            gc.collect()
            seen.append((run, resident_mib()))
    return seen


def resident_mib() -> float:
    """Resident memory of this process; Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def chart(seen: list[tuple[int, float]]) -> str:
    """Memory over runs as SVG, from zero."""
    width, height, left, bottom = 640, 200, 60, 30
    most, last = max(mib for _, mib in seen), max(1, seen[-1][0])
    points = " ".join(f"{left + width * run / last:.1f},{10 + height * (1 - mib / most):.1f}" for run, mib in seen)
    box = f'viewBox="0 0 {left + width + 20} {height + bottom + 20}"'
    style = 'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12" fill="#22272e"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>',
            "<title>Resident memory of the page over its runs</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<path d="M{left},10v{height}h{width}" fill="none" stroke="#98a1ac"/>',
            f'<polyline points="{points}" fill="none" stroke="#2f6fae" stroke-width="2"/>',
            f'<text x="{left - 8}" y="16" text-anchor="end">{most:.0f} MiB</text>',
            f'<text x="{left - 8}" y="{height + 14}" text-anchor="end">0</text>',
            f'<text x="{left + width}" y="{height + 28}" text-anchor="end">{seen[-1][0]} runs</text>',
            "</svg>",
            "",
        ]
    )
