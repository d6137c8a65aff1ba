"""How the page opens and steps: ``python -m benchmarks.page_load [ADDRESS] [--write docs/page.md]``.

Without an address the page of this checkout is served for the time. Prints one JSON object a line, a visit each, for
each size and theme, with nothing cached: seconds until a forest is drawn (the server's picture or the viewer's), where
it and then the viewer's forest begin in pixels from the top, milliseconds of a step from the key to the painted frame,
the layout shift, and what was fetched. ``--write`` puts their table into a page of the documentation. Needs playwright
and a ``chromium``.
"""

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch
from playwright.sync_api import Browser, sync_playwright

import dsbd
from dsbd.files import write_file
from dsbd.machine import machine
from ui import Engine, build_page, launch_options

SIZES = ((1280, 800), (1440, 900), (390, 844))
THEMES = ("light", "dark")
VISITS = 3
DRAWN = "#forest .dsbd-scroller"
"""The viewer's forest with its titles, which the server's picture has in it."""
FOREST = f"#first-paint .first-light > svg, #first-paint .first-dark > svg, {DRAWN}"
SHIFTS = """
globalThis.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) globalThis.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""
FIRST = """(forests) => {
  const places = [...document.querySelectorAll(forests)].map((one) => one.getBoundingClientRect());
  const shown = places.find((place) => place.height);
  return shown && [shown.top, performance.now()];
}"""
WARM_UP, STEPS = 20, 200
STEP = """async (count) => {
  const root = document.querySelector("#forest .dsbd");
  const step = () => root.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  const times = [];
  for (let place = 0; place < count; place++) {
    times.push(await new Promise((done) => requestAnimationFrame(() => {
      const start = performance.now();
      const {port1, port2} = new MessageChannel();
      port1.onmessage = () => done(performance.now() - start);
      step();
      port2.postMessage(null);
    })));
  }
  return times;
}"""
"""A step is taken as a frame begins, so script, style, layout and paint of this frame are timed and no wait for it: the
message arrives once the frame is painted."""
PATIENCE = 120_000
"""Milliseconds; a machine may be busy."""
BEGIN, END = "<!-- page_load -->\n", "<!-- /page_load -->\n"
HEADS = (
    "screen",
    "the first paint's forest begins at",
    "the viewer's forest begins at",
    "seconds to the first forest",
    "milliseconds of a step",
)


def main() -> None:
    """Open the page at every size and in both themes."""
    parser = argparse.ArgumentParser(description="How the page opens and steps in headless Chromium.")
    parser.add_argument("address", nargs="?", help="a page that is served; without it, that of this checkout")
    parser.add_argument("--visits", type=int, default=VISITS, help=f"visits at each size and theme ({VISITS})")
    parser.add_argument("--shots", type=Path, help="a folder for screenshots")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table between the marks of this file")
    options = parser.parse_args()
    if options.shots is not None:
        options.shots.mkdir(parents=True, exist_ok=True)
    found = []
    with served(options.address) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(options.visits):
            for size in SIZES:
                for theme in THEMES:
                    found.append(visit(browser, address, size, theme, options.shots))
                    print(json.dumps(found[-1]), flush=True)
        browser.close()
    if options.write is not None:
        here = machine(torch.device("cpu"))
        words = f"server and browser on the same {here['cores']} cores, {here['processor']}"
        told = written(options.write.read_text(encoding="utf-8"), table(found, words))
        write_file(options.write, told)


@contextmanager
def served(address: str | None) -> Iterator[str]:
    """The address; without one, that of a page which is served until the end."""
    if address is not None:
        yield address
        return
    engine = Engine(dsbd.load_pair())
    page = build_page(engine)
    _, own, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **launch_options(engine))
    try:
        yield own
    finally:
        page.close()


def visit(browser: Browser, address: str, size: tuple[int, int], theme: str, shots: Path | None) -> dict[str, Any]:
    """Return the figures of one visit."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page, fetched = context.new_page(), []
    page.set_default_timeout(PATIENCE)
    page.add_init_script(SHIFTS)
    page.on("requestfinished", lambda request: fetched.append((request.url, request.sizes()["responseBodySize"])))
    page.goto(address, wait_until="commit")
    first, milliseconds = page.wait_for_function(FIRST, arg=FOREST).json_value()
    page.wait_for_selector("svg.dsbd-forest")
    page.wait_for_selector(".dsbd-badge svg")
    figures = {
        "size": f"{width}x{height}",
        "theme": theme,
        "first_forest_s": round(milliseconds / 1000, 2),
        "first_forest_y": round(first),
        "viewer_forest_y": round(page.locator(DRAWN).bounding_box()["y"]),
        "layout_shift": round(page.evaluate("globalThis.shifted"), 4),
        "requests": len(fetched),
        "kilobytes": round(sum(size for url, size in fetched if not url.startswith("data:")) / 1000),
        "elsewhere": sum(not url.startswith((address.rstrip("/"), "data:", "blob:")) for url, _ in fetched),
    }
    if shots is not None:
        page.screenshot(path=shots / f"{width}x{height}-{theme}.png")
    page.evaluate(STEP, WARM_UP)
    times = sorted(page.evaluate(STEP, STEPS))
    figures |= {"step_ms": round(median(times), 1), "step_p90_ms": round(times[int(0.9 * STEPS)], 1)}
    context.close()
    return figures


def table(found: Sequence[dict[str, Any]], where: str) -> str:
    """Return the figures as Markdown: a row for each size, over all visits and both themes.

    Args:
        found: of :func:`visit`.
        where: the machine, in words.
    """
    lines = [_row(HEADS), _row(["---"] * len(HEADS))]
    for size in dict.fromkeys(one["size"] for one in found):
        ours = [one for one in found if one["size"] == size]
        half, most = (median(one[name] for one in ours) for name in ("step_ms", "step_p90_ms"))
        places = [f"y = {_range(one[name] for one in ours)}" for name in ("first_forest_y", "viewer_forest_y")]
        seconds = _range(one["first_forest_s"] for one in ours)
        lines.append(_row([size.replace("x", "×"), *places, seconds, f"{half:.1f} ({most:.1f})"]))
    visits = len(found) // len(dict.fromkeys(one["size"] for one in found))
    names = ("kilobytes", "requests", "elsewhere")
    kilobytes, requests, elsewhere = (_range(one[name] for one in found) for name in names)
    words = (
        f"{visits} visits at each size, half of them dark, with nothing cached, {where}. Seconds count from the "
        f"navigation to the server's picture of the forest. "
        f"A step is timed from the key to the painted frame, {STEPS} times a visit: the median, in "
        f"brackets the 90th percentile. Opening the page fetches {kilobytes} KB, uncompressed, in {requests} requests, "
        f"{elsewhere} of them elsewhere."
    )
    return "\n".join([*lines, "", *textwrap.wrap(words, 120)]) + "\n"


def written(page: str, told: str) -> str:
    """Return the page of the documentation with this between its marks. Raises: ValueError where it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the file has no lines {BEGIN.strip()} and {END.strip()}; write them where the table belongs")
    return f"{before}{begin}\n{told}\n{end}{after}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _range(values: Any) -> str:
    known = sorted(set(values))
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


if __name__ == "__main__":
    main()
