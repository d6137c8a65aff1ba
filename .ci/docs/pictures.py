"""Takes every picture of the documentation: ``python .ci/docs/pictures.py``, from the root, on a quiet machine.

- ``docs/images/forest.svg``: the verified forest of one iteration.
- ``docs/images/NAME.webp``: the example in the docstring of each public function that returns a Plotly figure.
- ``docs/images/page.webp``: the page as ``app.py`` serves it, in the middle of a recorded decode.
- ``visualize/page/preview.png``: the same at its opening, for shared links.

Needs playwright, pillow and ``chromium``.
"""

import doctest
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ci")]

from smoke_page import served  # noqa: E402 - the script beside this folder

import visualize  # noqa: E402 - the package of this clone

TRACE = ROOT / "assets" / "traces" / "1-dynamic-width.json.gz"
IMAGES = ROOT / "docs" / "images"
WINDOW = {"width": 1280, "height": 800}


def main() -> None:
    """Write all pictures."""
    os.chdir(ROOT)
    (IMAGES / "forest.svg").write_text(visualize.forest_svg(TRACE), encoding="utf-8")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take_figures(browser, Path(folder))
        take_page(browser)
        browser.close()


def take_figures(browser: Browser, folder: Path) -> None:
    """Draw the example of each public figure with the data that docs/api/drawings.md names."""
    data: dict[str, Any] = {}
    text = (ROOT / "docs" / "api" / "drawings.md").read_text(encoding="utf-8")
    exec(text.partition("```python\n")[2].partition("```")[0], data)
    page = browser.new_page(viewport={"width": 960, "height": 600})
    for name in visualize.__all__:
        if name.endswith("_figure"):
            (example,) = doctest.DocTestParser().get_examples(getattr(visualize, name).__doc__)
            figure: go.Figure = eval(example.source, data)
            file = folder / f"{name}.html"
            figure.write_html(file, include_plotlyjs="directory", config={"displayModeBar": False})
            page.goto(file.as_uri())
            save(page.locator(".js-plotly-plot"), f"{name}.webp")


def take_page(browser: Browser) -> None:
    """Open the page and step back from the end of its forest."""
    with served() as address:
        page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
        page.goto(address)
        page.wait_for_selector(".dsbd-node:not([hidden])")
        page.wait_for_timeout(1500)
        page.set_viewport_size({"width": 1200, "height": 630})
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.quantize(64).save(ROOT / "visualize" / "page" / "preview.png", optimize=True)
        page.set_viewport_size(WINDOW)
        page.click("#forest button[aria-label='Last step']")
        page.click("#forest button[aria-label='Step back']")
        page.mouse.move(0, 0)
        page.wait_for_timeout(1500)
        save(page, "page.webp")


def save(shown: Page | Locator, name: str) -> None:
    """Save a screenshot among the images of the documentation."""
    Image.open(io.BytesIO(shown.screenshot())).convert("RGB").save(IMAGES / name, "WEBP", quality=82, method=6)


if __name__ == "__main__":
    main()
