"""How long a step of the viewer takes in headless Chromium: ``python -m benchmarks.viewer_steps TRACE``.

Prints one JSON object: milliseconds per step and per iteration, script and layout together, as median and 90th
percentile; the seconds of the scene; the bytes of the page without Plotly. Needs playwright and a ``chromium``.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import visualize
from dsbd.tracing.trace import Trace

STEPS, ITERATIONS = 400, 60
TIMED = """async ([key, count]) => {
    const root = document.querySelector('.dsbd'), times = [];
    for (let step = 0; step < count; step++) {
        const start = performance.now();
        root.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
        root.getBoundingClientRect();
        times.push(performance.now() - start);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
    times.sort((one, other) => one - other);
    return {median_ms: times[Math.floor(count / 2)], p90_ms: times[Math.floor(0.9 * count)]};
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", metavar="TRACE", help="a recorded decode; large ones say most")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps to time ({STEPS})")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help=f"iterations to time ({ITERATIONS})")
    asked = parser.parse_args()
    trace = Trace.load(asked.trace)
    start = time.perf_counter()
    packed = visualize.scene_json(visualize.build_scene(trace))
    seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "viewer.html"
        visualize.export_html(trace, page_file, plotly="beside")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = time.perf_counter()
        page.goto(page_file.as_uri())
        page.wait_for_selector(".dsbd-node:not([hidden])")
        opened = time.perf_counter() - start
        report = {
            "iterations": len(trace.iterations),
            "layers": sum(len(iteration.layers) for iteration in trace.iterations),
            "nodes": sum(len(iteration.nodes) for iteration in trace.iterations),
            "scene_seconds": round(seconds, 3),
            "scene_bytes": len(json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode()),
            "page_bytes": page_file.stat().st_size,
            "open_seconds": round(opened, 3),
            "step": page.evaluate(TIMED, ["ArrowRight", asked.steps]),
            "iteration": page.evaluate(TIMED, ["PageDown", asked.iterations]),
        }
        browser.close()
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
