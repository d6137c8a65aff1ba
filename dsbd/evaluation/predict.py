"""One decode of one question, measured."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from dsbd.evaluation.records import Drafting, Job, Prediction, seed_of
from dsbd.measure.bench.run import Measured, run_of, timed
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair
from dsbd.observer import IterationEnd, Observer


class Notes(Observer):
    """Keeps the iterations of one decode; what they hold is counted after the clock has stopped."""

    reads_seconds = False

    def __init__(self) -> None:
        self.iterations: list[IterationEnd] = []
        self.first_token_at: float | None = None

    def on_iteration(self, iteration: IterationEnd) -> None:
        """Keep an iteration, and the time of the first one."""
        if self.first_token_at is None:
            self.first_token_at = time.perf_counter()
        self.iterations.append(iteration)

    def widths(self) -> dict[int, int]:
        """Return how many layers yielded how many beams."""
        sizes = [sum(beam.multiplicity for beam in layer.beams) for one in self.iterations for layer in one.layers]
        return dict(sorted(Counter(sizes).items()))

    def drafting(self) -> Drafting | None:
        """Return what became of the drafts; None where nothing was drafted."""
        drafting = [one for one in self.iterations if one.scored.forest.layers]
        if not drafting:
            return None
        accepted = [_accepted_layers(one) for one in drafting]
        verdicts = Counter(trial.verdict for one in drafting for layer in one.layers for trial in layer.trials)
        return Drafting(
            steps=tuple(accepted.count(size) for size in range(max(accepted) + 1)),
            drafted_layers=sum(len(one.scored.forest.layers) for one in drafting),
            accepted=verdicts["accepted"],
            rejected=verdicts["rejected"],
        )


def _accepted_layers(iteration: IterationEnd) -> int:
    """Return the layers that are final, without the last one where the target drew some of it."""
    last = iteration.layers[-1]
    return len(iteration.layers) - bool(last.draws)


def predict(
    pair: Pair,
    job: Job,
    prompt: str,
    meters: Mapping[str, Meter] | None = None,
    processes: int = 1,
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Prediction:
    """Decode one question once.

    Args:
        pair: the models.
        job: which contender, which question and which of its seeds.
        prompt: the question's prompt, shortened where it has to be.
        meters: of the devices, by name.
        processes: how many processes share this machine.
        chat: apply the model's chat template.
        stop: ends a decode of ours.

    Raises:
        StoppedError: ``stop`` returned True.
    """
    notes, until, seed = Notes(), job.run.task.until, seed_of(job)
    measured = timed(pair, job.contender, prompt, seed, meters, stop, chat=chat, until=until, observers=[notes])
    run = run_of(pair, job.contender, prompt, pair.encode(prompt, chat=chat), seed, measured)
    first = measured.hypotheses.first_token_at or notes.first_token_at
    return Prediction(
        **vars(run),
        task=job.run.name,
        question=job.question.id,
        cluster=job.question.cluster,
        turn=job.turn,
        shortened=prompt != job.question.prompt,
        ended=_ended(pair, measured, job.run.max_new_tokens),
        first_token_seconds=None if first is None else first - measured.started_at,
        processes=processes,
        **_counted(notes),
    )


def _ended(pair: Pair, measured: Measured, limit: int) -> str:
    found = measured.hypotheses
    if found.token_ids[0][-1] in pair.eos:
        return "eos"
    return "limit" if found.layers >= limit else "until"


def _counted(notes: Notes) -> dict[str, Any]:
    """Return what only a decode of ours counts."""
    return {"drafting": notes.drafting(), "widths": notes.widths()} if notes.iterations else {}
