"""Takes the pictures that need a browser: ``python .ci/docs/captures.py``, from the root, on a quiet machine.

- ``docs/images/page.webp``: the page as ``app.py`` serves it, in the middle of a recorded decode.
- ``visualize/page/preview.png``: the end of the two lanes, for shared links and for readers who want no movement.

Needs playwright, pillow and ``chromium``.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

from pictures import IMAGES, TRACE, visualize  # noqa: E402 - the script beside this one
from smoke_page import served  # noqa: E402 - the script beside this folder

WINDOW = {"width": 1280, "height": 800}


def main() -> None:
    """Write all pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        lanes(browser)
        with served() as address:
            page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
            page.goto(address)
            page.wait_for_selector(".dsbd-node:not([hidden])")
            page.wait_for_timeout(1500)
            page.click("#forest button[aria-label='Last step']")
            page.click("#forest button[aria-label='Step back']")
            page.mouse.move(0, 0)
            page.wait_for_timeout(1500)
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            shot.save(IMAGES / "page.webp", "WEBP", quality=82, method=6)
        browser.close()


def lanes(browser: Browser) -> None:
    """Save the last picture of the two lanes of the opening decode with the button of the viewer."""
    with tempfile.TemporaryDirectory() as folder:
        visualize.export_html(TRACE, Path(folder) / "trace.html")
        page = browser.new_page(viewport=WINDOW)
        page.goto((Path(folder) / "trace.html").as_uri())
        page.click(".dsbd-more > summary")
        with page.expect_download() as download:
            page.click(".dsbd-picture")
        picture = Image.open(download.value.path())
        page.close()
    picture.convert("RGB").quantize(64).save(ROOT / "visualize" / "page" / "preview.png", optimize=True)


if __name__ == "__main__":
    main()
