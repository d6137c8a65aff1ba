"""Everything that only a GPU can tell, in one command of an hour: is it right there, and how fast is it.

    python -m benchmarks.first_gpu_day
    python -m benchmarks.first_gpu_day --dry-run
    python -m benchmarks.first_gpu_day --only ids,copies

Compares ids with the CPU, counts host copies, measures every table of docs/performance.md with energy, and writes what
was measured into the pages, where they say "not measured". The same command goes on where it was stopped: a step whose
file in ``--results`` says ``done`` is not done again. Energy needs the extra ``energy``. Real models are measured if
their files are on the machine; nothing is fetched.

    python -m benchmarks.first_gpu_day --device cpu --small --results DIR --pages DIR

rehearses all steps on tiny random models; the figures mean nothing.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch

from benchmarks.gpu_day import checks, measured
from benchmarks.gpu_day.pages import write_pages
from benchmarks.gpu_day.runner import Day, Kept, Step, kept, run_all, run_one

ROOT = Path(__file__).resolve().parents[1]
STEPS = (
    Step("machine", "what computes, and which counters of energy there are", 1, checks.machine),
    Step("ids", "the ids of the CPU in float64, in every mode, with every engine", 4, checks.ids),
    Step("copies", "copies from the device to the host: one an iteration", 2, checks.copies),
    Step("phases", "where an iteration goes", 2, measured.phases),
    Step("temperature-1", "bundled pair, temperature 1", 6, partial(measured.stories, temperature=1.0)),
    Step("temperature-0-7", "bundled pair, temperature 0.7", 6, partial(measured.stories, temperature=0.7)),
    Step("eager", "bundled pair, eager engine", 3, partial(measured.other_pair, engine="eager")),
    Step("float32", "bundled pair in float32", 3, partial(measured.other_pair, dtype="float32")),
    Step("scale-methods", "a twin of 8B, draft of 0.5B: every decoder", 10, partial(measured.at_scale, part="methods")),
    Step("scale-widths", "the twin: 2 to 8 beams", 4, partial(measured.at_scale, part="widths")),
    Step("scale-depths", "the twin: depth 2 to 8", 4, partial(measured.at_scale, part="depths")),
    Step("outside-the-models", "an iteration without the models, by vocabulary", 1, measured.outside_the_models),
    Step("quality", "questions to SQL", 4, measured.quality),
    Step("real-pairs", "known pairs of public models that are on this machine", 3, measured.real_pairs),
)


def main(arguments: list[str] | None = None) -> int:
    parser = flags()
    asked = parser.parse_args(arguments)
    day = Day(asked.device, asked.results, asked.small)
    if asked.step:
        run_one(day, steps_of(parser, asked.step)[0])
        return 0
    steps = steps_of(parser, asked.only) if asked.only else list(STEPS)
    if asked.dry_run:
        for step in steps:
            before = kept(day, step)
            print(f"{step.name:20} {step.minutes:3} min  {before.state if before else 'to do':8} {step.what}")
        print(f"{'all':20} {sum(step.minutes for step in steps):3} min at most")
        return 0
    if not asked.small and not asked.device.startswith("cuda"):
        parser.error("there is no GPU here; rehearse with --device cpu --small --results DIR --pages DIR")
    if asked.small and (asked.results == RESULTS or asked.pages == PAGES):
        parser.error("a rehearsal measures nothing: give it separate --results and --pages")
    found = []
    for step, outcome in run_all(day, steps, alone=not asked.small):
        found.append(outcome)
        print(f"{step.name:20} {outcome.state:8} {outcome.seconds:7.1f} s", flush=True)
        if outcome.state != "done":
            print(f"  {outcome.data.get('error') or outcome.table.splitlines()[-1]}", flush=True)
    for page in write_pages(asked.pages, tables_of(found)):
        print(f"written: {page}")
    return 1 if any(outcome.state == "failed" for outcome in found) or wrong(found) else 0


RESULTS, PAGES = ROOT / "benchmarks" / "results" / "gpu", ROOT / "docs"


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="The first day on a GPU", allow_abbrev=False)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder that keeps the outcome of every step")
    parser.add_argument("--pages", type=Path, default=PAGES, help="folder of the pages (docs)")
    parser.add_argument("--only", metavar="LIST", help=f"of {', '.join(step.name for step in STEPS)}")
    parser.add_argument("--dry-run", action="store_true", help="show the steps, their budgets and what is done")
    parser.add_argument("--small", action="store_true", help="a rehearsal on tiny models, in one process")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    return parser


def steps_of(parser: argparse.ArgumentParser, text: str) -> list[Step]:
    """Return the steps of these names, in the order of the day."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    known = [step.name for step in STEPS]
    for name in names:
        if name not in known:
            parser.error(f"there is no step {name!r}; choose from {', '.join(known)}")
    return [step for step in STEPS if step.name in names]


def tables_of(found: list[Kept]) -> dict[str, str]:
    """Return what the pages show: the table of each step, and one sentence about the day."""
    tables = {one.step: one.table for one in found}
    machine = next((one for one in found if one.step == "machine" and one.state == "done"), None)
    if machine is not None:
        device = machine.data["machine"]
        tables["day"] = f"Measured on one {device.get('gpu', device['device'])}: [On a GPU](gpu.md)."
    return tables


def wrong(found: list[Kept]) -> bool:
    """Return True, with a sentence for each, if a check found ids or copies that are not as they should be."""
    said = {"equal": "ids differ from those of the CPU", "one": "an iteration does not copy exactly once"}
    bad = [text for one in found for key, text in said.items() if one.data.get(key) is False]
    for text in bad:
        print(f"WRONG: {text}", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
