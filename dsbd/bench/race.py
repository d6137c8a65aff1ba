"""A race: a benchmark in which each system has a lane, its decode of the first prompt that took the middle time.

for step in race(pair, systems(["beam_sampling", "dsbd:exact"], {}), ["Once upon a time"], rounds=3):
    ...  # Progress, again and again; and last a Race
"""

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import cast

from dsbd.bench.benchmark import Asked, Benchmark, Turn, require_runnable, run_benchmark
from dsbd.bench.records import Answer, Landing, Lane, Phase, Progress, Race, RacedPrompt, Racer, Run, Stretch
from dsbd.bench.statistics import make_table
from dsbd.bench.systems import BASELINE, System, require_count
from dsbd.bench.task import Question, Task
from dsbd.bench.tasks import Prompts
from dsbd.errors import SettingsError, StoppedError
from dsbd.iteration import Iteration
from dsbd.models.pair import Pair
from dsbd.results import ITERATION_PHASES, DecodingResult
from dsbd.session import Observer, RunStart

MAX_ROUNDS = 100


def race(
    pair: Pair,
    systems: Sequence[System],
    prompts: Sequence[str | Question],
    task: Task | None = None,
    rounds: int = 3,
    cancel: Callable[[], bool] | None = None,
) -> Iterator[Progress | Race]:
    """Run every system ``rounds`` times on every prompt, each time with another seed; closing the iterator stops it.

    ``prompts`` are texts, or questions of the task that scores the answers; without one, perplexity stands for quality.
    ``cancel`` is asked inside the runs. Once it returns True the race ends: it yields what ran, if anything did, and
    raises a StoppedError.

    Yields:
        Progress, as :func:`~dsbd.bench.benchmark.run_benchmark` does, without runs; and last the race.

    Raises:
        SettingsError: nothing to run, a repeated name or prompt, or rounds out of range.
        PairError: a system drafts and the pair has no draft model.
        PromptError: a prompt does not fit the models.
        StoppedError: ``cancel`` returned True.
    """
    asked, names = Prompts(prompts).questions() if prompts else [], [one.name for one in systems]
    for what, chosen in (("decoder", names), ("prompt", [one.prompt for one in asked])):
        if not chosen:
            raise SettingsError(f"no {what} is chosen; choose one or more")
        if len(set(chosen)) < len(chosen):
            raise SettingsError(f"{what}s name one twice; name each once")
    require_count("rounds", rounds, MAX_ROUNDS)
    of = task or Prompts(asked)
    benchmark = Benchmark(tuple(systems), tuple(Asked(of, one, one.prompt, None) for one in asked), rounds)
    require_runnable(pair, benchmark)
    return _race(pair, benchmark, cancel)


def _race(pair: Pair, benchmark: Benchmark, cancel: Callable[[], bool] | None) -> Iterator[Progress | Race]:
    runs, watches = list[Run](), dict[tuple[str, int], LaneWatch]()

    def watching(turn: Turn) -> list[LaneWatch]:
        if turn.asked != benchmark.asked[0] or not turn.system.is_ours:
            return []
        watches[turn.system.name, turn.seed] = watch = LaneWatch()
        return [watch]

    try:
        for step in run_benchmark(pair, benchmark, cancel, watching=watching):
            if step.run is not None:
                runs.append(step.run)
            yield replace(step, run=None)
    except StoppedError:
        if runs:
            yield race_of(benchmark, runs, watches)
        raise
    yield race_of(benchmark, runs, watches)


def race_of(benchmark: Benchmark, runs: Sequence[Run], watches: Mapping[tuple[str, int], "LaneWatch"]) -> Race:
    """Return the race of what ran; needs no model. Decoders and prompts that did not run are left out.

    ``watches`` are of our runs on the first prompt, by system and seed.
    """
    task = benchmark.asked[0].task
    asked = [one.question for one in benchmark.asked if any(run.question == one.question.id for run in runs)]
    places = {question.id: place for place, question in enumerate(asked)}
    order = [one.name for one in benchmark.systems]
    runs = sorted(runs, key=lambda run: (order.index(run.system), places[run.question], run.round))
    bases = [run.system for run in runs if run.method == BASELINE]
    table = make_table(runs, task, bases[0] if bases else BASELINE)
    racers = []
    for row in table.rows:
        own = [run for run in runs if run.system == row.system]
        answers = tuple(
            Answer(
                prompt=places[run.question],
                seed=run.seed,
                text=run.text,
                answer=run.answer if task.main_metric else "",
                right=None if run.score is None else run.score == 1.0,
                reason=run.reason,
            )
            for run in own
        )
        lane = _lane([run for run in own if not places[run.question]], watches)
        racers.append(Racer(row=row, lane=lane, answers=answers))
    return Race(
        prompts=tuple(RacedPrompt(text=one.prompt, gold="".join(one.references[:1])) for one in asked),
        task=task.name if task.main_metric else None,
        metric=table.metric,
        higher_is_better=table.higher_is_better,
        rounds=benchmark.rounds,
        baseline=table.baseline,
        racers=tuple(racers),
        complete=len(runs) == benchmark.total,
    )


def _lane(own: Sequence[Run], watches: Mapping[tuple[str, int], "LaneWatch"]) -> Lane | None:
    """Return the lane of the run of the middle time; of an opponent only the beginning and the end are known."""
    if not own:
        return None
    run = sorted(own, key=lambda run: run.seconds)[(len(own) - 1) // 2]
    watch = watches.get((run.system, run.seed))
    if watch is not None:
        return watch.lane()
    stretches = (Stretch("prefill", 0.0, run.prefill_seconds), Stretch("forward", run.prefill_seconds, run.seconds))
    return Lane(stretches, (Landing(run.seconds, run.layers, run.text),), run.seed)


class LaneWatch(Observer):
    """Notes what a lane needs while one of our decoders runs; it takes no time of the decode worth measuring.

    An iteration's layers become final together, at the end of its commit. While a decode goes on, several beams may be
    alive: the text of a landing is that of the hypothesis returned in the end.
    """

    reads_seconds = False

    def __init__(self) -> None:
        self._seconds = list[tuple[Phase, float]]()
        self._landed = list[tuple[float, int]]()

    def on_start(self, start: RunStart) -> None:
        self._start = start

    def on_iteration(self, iteration: Iteration) -> None:
        spent = [(cast(Phase, phase), iteration.seconds[phase]) for phase in ITERATION_PHASES]
        self._seconds += spent
        self._landed.append((sum(seconds for _, seconds in spent), len(iteration.layers)))

    def on_finish(self, result: DecodingResult) -> None:
        self._result = result

    def lane(self) -> Lane:
        """Return the lane of the decode, which has come to its end."""
        spent: list[tuple[Phase, float]] = [("prefill", self._result.stats.prefill_seconds), *self._seconds]
        moments = pairwise(accumulate((seconds for _, seconds in spent), initial=0.0))
        stretches = [Stretch(phase, *span) for (phase, _), span in zip(spent, moments, strict=True)]
        texts, now, first, landings = self._texts(), spent[0][1], 0, list[Landing]()
        for seconds, layers in self._landed:
            now += seconds
            landings.append(Landing(now, layers, "".join(texts[first : first + layers])))
            first += layers
        kept = tuple(one for one in stretches if one.end > one.start)
        return Lane(kept, tuple(landings), self._start.settings.seed)

    def _texts(self) -> list[str]:
        """Return what each token adds to the text: a character split over tokens comes with the last of them."""
        reader, pair = codecs.getincrementaldecoder("utf-8")(errors="replace"), self._start.pair
        own = [b"" if token in pair.eos else pair.token_bytes.of(token) for token in self._result.token_ids]
        return [reader.decode(part, final=place == len(own)) for place, part in enumerate(own, 1)]
