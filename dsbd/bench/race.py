"""A race: a benchmark that also keeps, for each system, a timeline of its decode of the first prompt.

for step in race(pair, systems(["beam_sampling", "dsbd:exact"], {}), ["Once upon a time"], rounds=3):
    ...  # progress, again and again; and last a Race
"""

import codecs
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import accumulate, pairwise
from typing import cast

from dsbd.bench.benchmark import Benchmark, Item, Turn, require_runnable, run_benchmark
from dsbd.bench.records import Answer, BenchmarkProgress, Commit, Phase, Race, Run, Span, Timeline
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
) -> Iterator[BenchmarkProgress | Race]:
    """Run every system ``rounds`` times on every prompt, each time with another seed; closing the iterator stops it.

    ``prompts`` are texts, or questions of the task that scores the answers; without one, perplexity stands for quality.
    ``cancel`` is called before each forward. Once it returns True the race ends: it yields what ran, if anything did,
    and raises a StoppedError.

    Yields:
        Progress, as :func:`~dsbd.bench.benchmark.run_benchmark` does, without runs; and last the race.

    Raises:
        SettingsError: nothing to run, a repeated name or prompt, or rounds out of range.
        PairError: a system drafts and the pair has no draft model.
        PromptError: a prompt does not fit the models.
        StoppedError: ``cancel`` returned True.
    """
    questions, names = Prompts(prompts).questions() if prompts else [], [one.name for one in systems]
    for kind, chosen in (("decoder", names), ("prompt", [one.prompt for one in questions])):
        if not chosen:
            raise SettingsError(f"no {kind} is chosen; choose one or more")
        if len(set(chosen)) < len(chosen):
            raise SettingsError(f"{kind}s name one twice; name each once")
    require_count("rounds", rounds, MAX_ROUNDS)
    scorer = task or Prompts(questions)
    items = tuple(Item(scorer, one, one.prompt, None) for one in questions)
    benchmark = Benchmark(tuple(systems), items, rounds)
    require_runnable(pair, benchmark)
    return _race(pair, benchmark, cancel)


def _race(pair: Pair, benchmark: Benchmark, cancel: Callable[[], bool] | None) -> Iterator[BenchmarkProgress | Race]:
    runs, observers = list[Run](), dict[tuple[str, int], TimelineObserver]()

    def observe(turn: Turn) -> list[TimelineObserver]:
        if turn.item != benchmark.items[0] or not turn.system.is_ours:
            return []
        observers[turn.system.name, turn.seed] = observer = TimelineObserver()
        return [observer]

    try:
        for step in run_benchmark(pair, benchmark, cancel, observe):
            if step.run is not None:
                runs.append(step.run)
            yield replace(step, run=None)
    except StoppedError:
        if runs:
            yield race_of(benchmark, runs, observers)
        raise
    yield race_of(benchmark, runs, observers)


def race_of(benchmark: Benchmark, runs: Sequence[Run], observers: Mapping[tuple[str, int], "TimelineObserver"]) -> Race:
    """Return the race of what ran; needs no model. Systems and questions that did not run are left out.

    ``observers`` are those of our runs on the first question, by system and seed.
    """
    questions = [one.question for one in benchmark.items if any(run.question == one.question.id for run in runs)]
    order, ids = [one.name for one in benchmark.systems], [one.id for one in questions]
    runs = sorted(runs, key=lambda run: (order.index(run.system), ids.index(run.question), run.round))
    first = [run for run in runs if run.question == ids[0]]
    seed = _middle_seed(first)
    shown = {run.system: run for run in sorted(first, key=lambda run: run.seed == seed)}
    return Race(
        questions=tuple(questions),
        table=make_table(runs, benchmark.items[0].task, BASELINE),
        answers=tuple(Answer(**{one.name: getattr(run, one.name) for one in fields(Answer)}) for run in runs),
        timelines={name: _timeline(run, observers.get((name, run.seed))) for name, run in shown.items()},
        complete=len(runs) == benchmark.total,
    )


def _middle_seed(runs: Sequence[Run]) -> int:
    """Return the seed with the middle gain over the baseline, of the seeds that most systems ran with."""
    systems = Counter(run.seed for run in runs)
    most = max(systems.values())

    def share(seed: int) -> float:
        """Return the baseline's share of the time of all."""
        seconds = {run.system: run.seconds for run in runs if run.seed == seed}
        return seconds.get(BASELINE, 0.0) / sum(seconds.values())

    seeds = sorted((seed for seed in systems if systems[seed] == most), key=share)
    return seeds[(len(seeds) - 1) // 2]


def _timeline(run: Run, observer: "TimelineObserver | None") -> Timeline:
    """Return the timeline of a run; of an opponent, which has no observer, only beginning and end are known."""
    if observer is not None:
        return observer.timeline()
    spans = (Span("prefill", 0.0, run.prefill_seconds), Span("forward", run.prefill_seconds, run.seconds))
    return Timeline(spans, (Commit(run.seconds, run.layers, run.text),), run.seed)


class TimelineObserver(Observer):
    """Collects a timeline while one of our decoders runs; it takes no time of the decode worth measuring.

    An iteration's layers become final together, at the end of its commit. While a decode goes on, several beams may be
    alive: the text of a commit is that of the hypothesis returned in the end.
    """

    reads_seconds = False

    def __init__(self) -> None:
        self._phases = list[tuple[Phase, float]]()
        self._commits = list[tuple[float, int]]()

    def on_start(self, start: RunStart) -> None:
        self._start = start

    def on_iteration(self, iteration: Iteration) -> None:
        phases = [(cast(Phase, phase), iteration.seconds[phase]) for phase in ITERATION_PHASES]
        self._phases += phases
        self._commits.append((sum(seconds for _, seconds in phases), len(iteration.layers)))

    def on_finish(self, result: DecodingResult) -> None:
        self._result = result

    def timeline(self) -> Timeline:
        """Return the timeline of the decode, which has come to its end."""
        phases: list[tuple[Phase, float]] = [("prefill", self._result.stats.prefill_seconds), *self._phases]
        bounds = pairwise(accumulate((seconds for _, seconds in phases), initial=0.0))
        spans = [Span(phase, *bound) for (phase, _), bound in zip(phases, bounds, strict=True)]
        texts, now, first, commits = self._texts(), phases[0][1], 0, list[Commit]()
        for seconds, layers in self._commits:
            now += seconds
            commits.append(Commit(now, layers, "".join(texts[first : first + layers])))
            first += layers
        lasting = tuple(span for span in spans if span.end > span.start)
        return Timeline(lasting, tuple(commits), self._start.settings.seed)

    def _texts(self) -> list[str]:
        """Return what each token adds to the text: a character split over tokens comes with the last of them."""
        decoder, pair = codecs.getincrementaldecoder("utf-8")(errors="replace"), self._start.pair
        parts = [b"" if token in pair.eos else pair.token_bytes.of(token) for token in self._result.token_ids]
        return [decoder.decode(part, final=count == len(parts)) for count, part in enumerate(parts, 1)]
