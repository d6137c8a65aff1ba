"""How the page opens: ``python -m benchmarks.page_load ADDRESS [--shots FOLDER]``, for a page that is served.

Prints one JSON object a line, for each size and theme, with nothing cached: seconds until a forest is drawn (the
server's picture or the viewer's), where it and then the viewer's forest begin in pixels from the top, the layout shift,
and what was fetched. Needs playwright and a ``chromium``; docs/page.md has the figures.
"""

import argparse
import json
import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

SIZES = ((1280, 800), (1440, 900), (390, 844))
THEMES = ("light", "dark")
FOREST = "#first-paint svg, svg.dsbd-forest"
SHIFTS = """
globalThis.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) globalThis.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""
PATIENCE = 120_000
"""Milliseconds; a machine may be busy."""


def main() -> None:
    """Open the page at every size and in both themes."""
    parser = argparse.ArgumentParser(description="How the page opens in headless Chromium.")
    parser.add_argument("address")
    parser.add_argument("--shots", type=Path, help="a folder for screenshots")
    options = parser.parse_args()
    if options.shots is not None:
        options.shots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for size in SIZES:
            for theme in THEMES:
                print(json.dumps(visit(browser, options.address, size, theme, options.shots)), flush=True)
        browser.close()


def visit(browser: Browser, address: str, size: tuple[int, int], theme: str, shots: Path | None) -> dict[str, object]:
    """Return the figures of one visit."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page, fetched = context.new_page(), []
    page.set_default_timeout(PATIENCE)
    page.add_init_script(SHIFTS)
    page.on("requestfinished", lambda request: fetched.append((request.url, request.sizes()["responseBodySize"])))
    page.goto(address, wait_until="commit")
    forest = page.locator(FOREST).locator("visible=true").first
    forest.wait_for()
    seconds, first = page.evaluate("performance.now()") / 1000, forest.bounding_box()["y"]
    page.wait_for_selector("svg.dsbd-forest")
    page.wait_for_selector(".dsbd-badge svg")
    figures = {
        "size": f"{width}x{height}",
        "theme": theme,
        "first_forest_s": round(seconds, 2),
        "first_forest_y": round(first),
        "viewer_forest_y": round(page.locator("svg.dsbd-forest").bounding_box()["y"]),
        "layout_shift": round(page.evaluate("globalThis.shifted"), 4),
        "requests": len(fetched),
        "kilobytes": round(sum(size for url, size in fetched if not url.startswith("data:")) / 1000),
        "elsewhere": sum(not url.startswith((address.rstrip("/"), "data:", "blob:")) for url, _ in fetched),
    }
    if shots is not None:
        page.screenshot(path=shots / f"{width}x{height}-{theme}.png")
    context.close()
    return figures


if __name__ == "__main__":
    main()
