"""A bench from the first warm-up to its summary, saying how far it is; Ctrl-C keeps what is done."""

from collections.abc import Sequence
from pathlib import Path

import torch

from dsbd.measure.bench.contenders import Contest
from dsbd.measure.bench.prepare import (
    conditions_of,
    learn_acceptance,
    learn_forwards,
    require_runnable,
    resolve_auto,
)
from dsbd.measure.bench.records import BenchSummary
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.summary import summarise
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair
from dsbd.progress import Progress


class Bench:
    """One contest on one pair.

    Args:
        pair: the models.
        contest: what is measured; ``auto`` is resolved first.
        output: a file for the results, which may exist already; None keeps them in memory.

    Raises:
        DsbdError: something in the contest cannot run on this pair, or the file cannot be continued.
    """

    def __init__(self, pair: Pair, contest: Contest, output: str | Path | None = None) -> None:
        pair.require_whole("a bench")
        require_runnable(pair, contest)
        self._pair, self._contest = pair, contest
        self._results = ResultsFile(output, conditions_of(pair, contest.contenders))

    def run(self) -> bool:
        """Measure what is missing; returns False where Ctrl-C stopped it."""
        pair, results = self._pair, self._results
        try:
            with Progress("forwards", "run") as progress:
                progress.show(total=self._contest.total)
                learn_forwards(pair, results)
                progress.show("auto")
                contest = self._contest = resolve_auto(pair, self._contest, results)
                progress.show("acceptance")
                for contender in learn_acceptance(pair, contest, results):
                    progress.show(contender.name)
                progress.show("warm-up")
                for step in measure(pair, contest, results, meters_of(pair)):
                    progress.show(step.contender.name, contest.total - step.missing)
        except KeyboardInterrupt:
            return False
        return True

    def summary(self, baselines: Sequence[str]) -> BenchSummary:
        """Summarise everything measured so far; see :func:`dsbd.measure.bench.summary.summarise`."""
        return summarise(self._contest, self._results, baselines)


def meters_of(pair: Pair) -> dict[str, Meter]:
    """Return a meter for every device that computes; where one cannot be measured, its meter says so."""
    meters = {"cpu_package": Meter()}
    if pair.device.type == "cuda":
        meters["gpu"] = Meter(torch.cuda.current_device() if pair.device.index is None else pair.device.index)
    return meters
