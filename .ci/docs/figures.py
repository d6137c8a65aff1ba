"""Draws the example of every public figure for docs/api/drawings.md: ``python .ci/docs/figures.py``, from the root.

Each function of ``visualize`` that returns a Plotly figure has an example in its docstring; its picture is
``docs/images/NAME.webp``. The page says what the data are. Needs playwright, pillow and ``chromium``.
"""

import doctest
import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from pictures import IMAGES, ROOT, visualize  # the script beside this one
from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH = 960


def main() -> None:
    """Write all pictures."""
    os.chdir(ROOT)
    data = example_data()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 600})
        for name in visualize.__all__:
            if name.endswith("_figure"):
                figure: go.Figure = drawn(name, data)
                figure.update_layout(autosize=True, width=None)
                file = Path(folder) / f"{name}.html"
                figure.write_html(file, include_plotlyjs="directory", config={"displayModeBar": False})
                page.goto(file.as_uri())
                shot = page.locator(".js-plotly-plot").screenshot()
                Image.open(io.BytesIO(shot)).convert("RGB").save(IMAGES / f"{name}.webp", "WEBP", quality=82, method=6)
        browser.close()


def example_data() -> dict[str, Any]:
    """Return the names that the first block of code on the page gives."""
    data: dict[str, Any] = {}
    page = (ROOT / "docs" / "api" / "drawings.md").read_text(encoding="utf-8")
    exec(page.partition("```python\n")[2].partition("```")[0], data)
    return data


def drawn(name: str, data: dict[str, Any]) -> Any:
    """Return the value of a function's example."""
    (example,) = doctest.DocTestParser().get_examples(getattr(visualize, name).__doc__)
    return eval(example.source, data)


if __name__ == "__main__":
    main()
