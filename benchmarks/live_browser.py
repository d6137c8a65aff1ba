"""Measures decoding in the browser: the time to the first pass and of a decode, its memory, and a slow page.

Chromium runs headless on this machine, with one thread of WebAssembly. The site is written afresh and served from this
machine. Python decodes the same prompts with the same seeds, and the texts are compared.

python -m benchmarks.live_browser
"""

import functools
import http.server
import json
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

import dsbd
import visualize
from dsbd.assets import asset_path

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
STARTS = ("Once upon a time there was a", "The little", "Lily and Tom", "One day a", "In the dark")
ENDS = ("bird", "dog who", "old house", "king and")
STORIES = [f"{start} {end}" for start in STARTS for end in ENDS]
QUESTIONS = ["How many recent members from Paris do we have?", "Count the books published from 1986 to 2000."]
SAME_LAW = {"draft_depth": 12, "min_width": 4, "max_width": 4, "draft_width": 4, "max_new_tokens": 64}
RUN = """async ([pair, runs]) => {
  const told = {};
  globalThis.client?.end();
  const hear = {progress() {}, scene() { told.first ??= performance.now(); }};
  const client = globalThis.client = new DsbdLive.Client("live/", pair, hear);
  const clicked = performance.now();
  await client.load();
  const loaded = performance.now();
  const traces = [];
  const seconds = [];
  for (const run of runs) {
    const began = performance.now();
    traces.push((await client.run({...run, language: "en"})).trace);
    seconds.push((performance.now() - began) / 1000);
  }
  return {load: (loaded - clicked) / 1000, first: (told.first - clicked) / 1000, seconds, traces};
}"""


def main() -> None:
    """Print the figures as JSON."""
    with _site() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page()
        page.goto(f"{address}/live.html")
        page.wait_for_function("globalThis.DsbdLive")
        stories = [{"prompt": prompt, "settings": {"seed": seed}} for seed, prompt in enumerate(STORIES)]
        told = {"cold": _told(page, "stories", stories[:1])}
        told["megabytes of the tab after it"] = _memory()
        told["stories"] = _told(page, "stories", stories)
        asked = [f"Q: {question}\nSQL:" for question in QUESTIONS * 3]
        told["sql"] = _told(page, "sql", [{"prompt": prompt, "settings": SAME_LAW} for prompt in asked])
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        told["stories on a page slowed 4 times"] = _told(page, "stories", stories[:3])
        browser.close()
    pair = dsbd.load_pair(dtype="float32")
    same = 0
    for seed, trace in enumerate(told["stories"].pop("traces")):
        expected = dsbd.decode(pair, STORIES[seed], dsbd.DecodingSettings(seed=seed)).token_ids
        same += trace["result"]["token_ids"] == expected
    for figures in told.values():
        if isinstance(figures, dict):
            figures.pop("traces", None)
    print(json.dumps({**told, "same texts as Python": f"{same} of {len(STORIES)}"}, indent=1))


def _told(page: Page, pair: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = page.evaluate(RUN, [pair, runs])
    seconds = [trace["result"]["stats"]["seconds"] for trace in told["traces"]]
    tokens = [trace["result"]["stats"]["layers"] for trace in told["traces"]]
    return {
        "seconds until the models are loaded": round(told["load"], 2),
        "seconds until the first pass is there": round(told["first"], 2),
        "median seconds of a decode": round(statistics.median(seconds), 2),
        "largest": round(max(seconds), 2),
        "median seconds with scenes": round(statistics.median(told["seconds"]), 2),
        "tokens": statistics.median(tokens),
        "traces": told["traces"],
    }


def _memory() -> int:
    """Return the megabytes that the largest renderer has for itself, without the libraries that it shares."""
    kinds = [one for one in psutil.process_iter(["cmdline"]) if "--type=renderer" in (one.info["cmdline"] or [])]
    return round(max(one.memory_full_info().uss for one in kinds) / 1e6)


@contextmanager
def _site() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        visualize.export_site(asset_path("traces"), Path(folder), live=True)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
        handler.log_message = lambda *_: None  # type: ignore[attr-defined]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


if __name__ == "__main__":
    main()
