"""A bench from the first warm-up to its summary, with a bar on stderr; Ctrl-C keeps what is done."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from dsbd.measure.bench.contenders import BenchPlan
from dsbd.measure.bench.prepare import learn_acceptance, learn_costs, require_runnable, settle
from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.summary import summarise
from dsbd.measure.energy import Meter, cpu_meter, gpu_meter
from dsbd.measure.machine import conditions
from dsbd.models.pair import Pair


class BenchSession:
    """One plan on one pair.

    Raises:
        DsbdError: something in the plan cannot run on this pair, or the file cannot be gone on with.
    """

    def __init__(self, pair: Pair, plan: BenchPlan, output: str | Path | None = None) -> None:
        require_runnable(pair, plan)
        self._pair, self._plan = pair, plan
        self.journal = Journal(output, conditions(pair))

    def run(self) -> bool:
        """Measure what is missing; False where it was stopped by Ctrl-C."""
        pair = self._pair
        try:
            with tqdm(total=self._plan.total, file=sys.stderr, unit="run", desc="forwards", disable=None) as bar:
                learn_costs(pair, self.journal)
                bar.set_description("auto")
                plan = self._plan = settle(pair, self._plan, self.journal)
                bar.set_description("acceptance")
                for contender in learn_acceptance(pair, plan, self.journal):
                    bar.set_description(contender.name)
                bar.set_description("warm-up")
                for step in measure(pair, plan, self.journal, meters_of(pair)):
                    bar.update(plan.total - step.missing - bar.n)
                    bar.set_description(step.contender.name)
        except KeyboardInterrupt:
            return False
        return True

    def summary(self, baselines: Sequence[str]) -> dict[str, Any]:
        """Of everything measured so far; see :func:`dsbd.measure.bench.summary.summarise`."""
        return summarise(self._plan, self.journal, baselines)


def meters_of(pair: Pair) -> dict[str, Meter]:
    """Every device that computes; those that cannot be measured have a meter that says so."""
    meters = {"cpu_package": cpu_meter()}
    if pair.device.type == "cuda":
        meters["gpu"] = gpu_meter(str(torch.cuda.get_device_properties(pair.device).uuid))
    return meters
