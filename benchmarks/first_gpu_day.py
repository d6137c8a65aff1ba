"""Everything that only a GPU can tell, in one command of an hour: is it right there, and how fast is it.

    python -m benchmarks.first_gpu_day
    python -m benchmarks.first_gpu_day --only ids,copies

Every step is a command within a budget of minutes. What it prints is kept in ``--results``, and written into the pages
where they say "not measured". The same command goes on where it was stopped: what is done is not
done again. Energy needs the extra ``energy``. Nothing is fetched.

    python -m benchmarks.first_gpu_day --device cpu --small --results DIR --pages DIR

rehearses all steps with few tokens; the figures mean nothing.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

from dsbd.files import write_file

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGES = ROOT / "benchmarks" / "results" / "gpu", ROOT / "docs"
SCRATCH = Path(tempfile.gettempdir()) / "dsbd-gpu-day"
"""Where twins are kept: they are built once, and are no results; those of 8B and 0.5B take 20 GB."""
BLOCK = re.compile(r"(<!-- measured: (?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- /measured -->)", re.S)
STATES = {0: "done", 130: "stopped"}
GRACE_SECONDS = 60
"""How long a command may take to show what it has measured once its budget is used up."""


class Step(NamedTuple):
    """A command of the day."""

    name: str
    minutes: int
    """Its budget."""
    command: str
    """A module of Python with its flags."""
    small: str = ""
    """Flags of a rehearsal."""


BENCH = "dsbd bench --methods dsbd:same-law,dsbd:auto-same-law,beam_sampling,hf_beam_sampling --max-new-tokens 128"
POINTS = "dsbd,dsbd:same-law,dsbd:equal-quality,dsbd:auto-same-law,dsbd:auto-equal-quality"
EVERY = f"--methods {POINTS},beam_sampling,hf_beam_sampling,hf_beam_search,hf_assisted,hf_sampling"
FEW = "--limit 1 --seeds 1 --max-new-tokens 4 --methods dsbd:same-law,beam_sampling"
TWIN = f"{BENCH} --target {SCRATCH}/target-8B --draft {SCRATCH}/draft-0.5B --limit 4 --seeds 1"
FEW_TWIN = f"{FEW} --target {SCRATCH}/target-tiny --draft assets/models/stories/draft"
QUALITY = "--methods sampling,greedy,beam_sampling,dsbd:same-law,speculative,hf_beam_sampling --draft-depth 12"
STEPS = (
    Step("machine", 2, "dsbd doctor"),
    Step("ids", 4, "benchmarks.gpu_checks ids", "--small"),
    Step("copies", 2, "benchmarks.gpu_checks copies", "--small"),
    Step("temperature-1", 7, f"{BENCH} {EVERY} --seeds 2", FEW),
    Step("temperature-0-7", 7, f"{BENCH} {EVERY} --seeds 2 --temperature 0.7", FEW),
    Step("eager", 3, f"{BENCH} --seeds 1 --engine eager", FEW),
    Step("float32", 3, f"{BENCH} --seeds 1 --dtype float32", FEW),
    Step("twins", 6, f"benchmarks.twin --twins target-8B,draft-0.5B --folder {SCRATCH}", "--twins target-tiny"),
    Step("scale-methods", 9, f"{TWIN} {EVERY},speculative,greedy", FEW_TWIN),
    Step("scale-widths", 4, f"{TWIN} --methods dsbd:same-law,beam_sampling --num-beams 2,4,6,8", FEW_TWIN),
    Step(
        "scale-depths", 4, f"{TWIN} --methods dsbd:defaults,dsbd:same-law,beam_sampling --draft-depth 2,4,6,8", FEW_TWIN
    ),
    Step("outside-the-models", 1, "benchmarks.overhead"),
    Step("quality", 4, f"dsbd eval --pair sql --tasks sql --limit 100 {QUALITY} --draft-width 4", FEW),
)


def command_of(step: Step, asked: argparse.Namespace) -> list[str]:
    """Return the command of a step; one that writes decodes begins its file again."""
    command = [sys.executable, "-m", *step.command.split(), "--device", asked.device]
    if step.command.startswith(("dsbd bench", "dsbd eval")):
        output = asked.results / f"{step.name}.jsonl"
        output.unlink(missing_ok=True)
        command += ["--output", str(output)]
    return command + (step.small.split() if asked.small else [])


def run(step: Step, asked: argparse.Namespace) -> dict[str, str | float]:
    """Run a step within its budget, and keep what it prints."""
    start, command = time.monotonic(), command_of(step, asked)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            said, _ = process.communicate(timeout=60 * step.minutes)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # a bench shows what it has measured
            try:
                said, _ = process.communicate(timeout=GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
    state = STATES.get(process.returncode, "failed")
    table = said.strip() if said.startswith("|") else f"```text\n{said.strip() or 'not measured'}\n```"
    kept = {"state": state, "seconds": round(time.monotonic() - start, 1), "table": table}
    write_file(asked.results / f"{step.name}.json", json.dumps(kept, indent=1) + "\n")
    return kept


def blocks(text: str) -> dict[str, str]:
    """Return the text of each block of a page, by name."""
    return {found["name"]: found["text"].strip() for found in BLOCK.finditer(text)}


def filled(text: str, tables: dict[str, str]) -> str:
    """Return a page with the blocks of these names replaced; a block within a line stays within it."""

    def fill(found: re.Match[str]) -> str:
        if found["name"] not in tables:
            return found[0]
        edge = "\n" if "\n" in found["text"] else ""
        return f"{found[1]}{edge}{tables[found['name']].strip()}{edge}{found[4]}"

    return BLOCK.sub(fill, text)


def main(arguments: list[str] | None = None) -> int:
    """Run what is not done yet. Returns the exit code: 1 if a step failed."""
    names = [step.name for step in STEPS]
    parser = argparse.ArgumentParser(description="The first day on a GPU", allow_abbrev=False)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder that keeps the outcome of every step")
    parser.add_argument("--pages", type=Path, default=PAGES, help="folder of the pages (docs)")
    parser.add_argument("--only", default=",".join(names), metavar="LIST", help=f"of {', '.join(names)}")
    parser.add_argument("--small", action="store_true", help="a rehearsal with few tokens")
    asked = parser.parse_args(arguments)
    if unknown := sorted(set(asked.only.split(",")) - set(names)):
        parser.error(f"there is no step {unknown[0]!r}; choose from {', '.join(names)}")
    if not asked.small and not asked.device.startswith("cuda"):
        parser.error("there is no GPU here; rehearse with --device cpu --small --results DIR --pages DIR")
    if asked.small and (asked.results == RESULTS or asked.pages == PAGES):
        parser.error("a rehearsal measures nothing: give it separate --results and --pages")
    asked.results = asked.results.resolve()
    asked.results.mkdir(parents=True, exist_ok=True)
    found = {}
    for step in STEPS:
        if step.name in asked.only.split(","):
            file = asked.results / f"{step.name}.json"
            kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
            found[step.name] = kept if kept.get("state") == "done" else run(step, asked)
            print(f"{step.name:20} {found[step.name]['state']:8} {found[step.name]['seconds']:7.1f} s", flush=True)
    tables = {name: kept["table"] for name, kept in found.items()}
    if found.get("machine", {}).get("state") == "done":
        tables["day"] = "measured on one GPU: [On a GPU](gpu.md)."
    for page in asked.pages.rglob("*.md"):
        write_file(page, filled(page.read_text(encoding="utf-8"), tables))
    return 1 if any(kept["state"] == "failed" for kept in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
