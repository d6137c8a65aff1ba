"""Draws the verified forest of one iteration, ``docs/images/forest.svg``, for the documentation site."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import visualize  # noqa: E402 - the package of this clone

TRACE = ROOT / "assets" / "traces" / "1-dynamic-width.json.gz"
IMAGES = ROOT / "docs" / "images"

if __name__ == "__main__":
    (IMAGES / "forest.svg").write_text(visualize.forest_svg(TRACE), encoding="utf-8")
