"""Takes ``docs/images/page.webp``: the page as ``app.py`` serves it, in the middle of a recorded decode.

``python .ci/docs/captures.py``, from the root, on a quiet machine. ``docs/images/lanes.gif`` is kept as it is.
Needs playwright, pillow and ``chromium``.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

from pictures import IMAGES  # noqa: E402 - the script beside this one
from smoke_page import served  # noqa: E402 - the script beside this folder

WINDOW = {"width": 1280, "height": 800}


def main() -> None:
    """Write the picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
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


if __name__ == "__main__":
    main()
