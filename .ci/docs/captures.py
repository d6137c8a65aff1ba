"""Takes the pictures of the page for the README: ``python .ci/docs/captures.py``, from the root, on a quiet machine.

- ``docs/images/page.webp``: the page as ``app.py`` serves it, in the middle of a recorded decode.
- ``ui/parts/preview.png``: the same, as a shared link shows it.
- ``docs/images/run.webp``: a visitor writes a prompt and presses Run; each picture stays as long as it took.

Needs playwright, pillow and ``chromium``.
"""

import io
import shutil
import sys
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

from smoke_page import served  # noqa: E402 - the script beside this folder

IMAGES = ROOT / "docs" / "images"
WINDOW = {"width": 1280, "height": 800}
PREVIEW = {"width": 1200, "height": 630}
SMALLER = (960, 600)
"""Pixels of the moving picture."""
PROMPT = "One cold morning, the smallest dragon"
LETTER_MILLISECONDS = 60
SHOTS_FOR_RUN = 32
PAUSE_SECONDS = 0.12
LAST_MILLISECONDS = 3000


def main() -> None:
    """Write the pictures."""
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
        page.goto(address)
        page.wait_for_selector(".dsbd-node:not([hidden])")
        page.wait_for_timeout(1500)
        page.click("#forest button[aria-label='Last step']")
        page.click("#forest button[aria-label='Step back']")
        page.mouse.move(0, 0)
        page.wait_for_timeout(1500)
        save([(page.screenshot(), 0)], "page.webp", (WINDOW["width"], WINDOW["height"]))
        page.set_viewport_size(PREVIEW)
        page.wait_for_timeout(1500)
        Image.open(io.BytesIO(page.screenshot())).quantize(128).save(
            ROOT / "ui" / "parts" / "preview.png", optimize=True
        )
        page.set_viewport_size(WINDOW)
        save(run(page), "run.webp", SMALLER)
        browser.close()


def run(page: Page) -> list[tuple[bytes, int]]:
    """Write a prompt, press Run, and return what was seen, each picture with its milliseconds."""
    seen = [(page.screenshot(), 800)]
    page.fill("#prompt textarea", "")
    for end in range(6, len(PROMPT) + 6, 6):
        page.fill("#prompt textarea", PROMPT[:end])
        seen.append((page.screenshot(), 6 * LETTER_MILLISECONDS))
    page.click("#run")
    running, since = page.screenshot(), time.perf_counter()
    for _ in range(SHOTS_FOR_RUN):
        page.wait_for_timeout(1000 * PAUSE_SECONDS)
        shot, now = page.screenshot(), time.perf_counter()
        if shot != running:
            seen.append((running, round(1000 * (now - since))))
            running, since = shot, now
    return [*seen, (running, LAST_MILLISECONDS)]


def save(seen: list[tuple[bytes, int]], name: str, size: tuple[int, int]) -> None:
    """Write one picture, or several as a moving one that repeats, as WebP."""
    first, *others = [Image.open(io.BytesIO(shot)).convert("RGB").resize(size) for shot, _ in seen]
    moving = {"save_all": True, "append_images": others, "duration": [time for _, time in seen], "loop": 0}
    first.save(IMAGES / name, "WEBP", quality=82, method=6, **(moving if others else {}))


if __name__ == "__main__":
    main()
