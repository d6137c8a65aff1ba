"""A benchmark: systems answer the questions of tasks in turn. The bench, the evaluation and the race all run on it.

``auto`` is resolved once, at the first question; each system warms up; then all decode a question one after the
other, in a random order that is always the same, so that a slow minute hits all alike.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from threading import Event
from typing import Any, NamedTuple

from dsbd.api import DecodeRequest
from dsbd.bench.measure import measure
from dsbd.bench.record_file import WHOLE, RecordFile, Shard, digest
from dsbd.bench.records import BenchmarkProgress, Run, to_plain
from dsbd.bench.report import Report, make_report, run_of
from dsbd.bench.systems import System, fields_read
from dsbd.bench.task import Question, Task
from dsbd.bench.tasks import Prompts
from dsbd.drafts.history import History
from dsbd.errors import PairError, SettingsError
from dsbd.models.engines.batch import require_size, until
from dsbd.models.pair import Pair, conditions
from dsbd.results import ShortRepr
from dsbd.session import Observer
from dsbd.settings import DecodingSettings
from dsbd.util import ProgressLine

WARM_UP_TOKENS = 8
Cancel = Callable[[], bool] | None


class Item(NamedTuple):
    """A question of a benchmark, as the models get it."""

    task: Task
    question: Question
    prompt: str
    max_new_tokens: int | None
    """The same for all systems; None: each system's own setting."""


class Turn(NamedTuple):
    """The decode of an item by a system, in one of the rounds."""

    system: System
    item: Item
    round: int

    @property
    def settings(self) -> DecodingSettings:
        """The system's settings, with the number of new tokens that the item allows."""
        own, limit = self.system.settings, self.item.max_new_tokens
        return own if limit is None else replace(own, max_new_tokens=limit)

    @property
    def seed(self) -> int:
        """The seed: the same for every system, whatever was decoded before.

        Seeds of a plain prompt count up from the setting ``seed``. Those of another task's question depend on the
        question too: with equal seeds, questions would share their random numbers, and would not be independent.
        """
        base, item = self.system.settings.seed, self.item
        if isinstance(item.task, Prompts):
            return (base + self.round) % 2**63
        return int(digest(base, item.task.name, item.question.id, self.round)[:15], 16)

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What no other decode of the benchmark has."""
        return self.system.name, self.item.task.name, self.item.question.id, self.round


@dataclass(frozen=True, repr=False)
class Benchmark(ShortRepr):
    """Which systems answer which questions, and how often, every time with another seed."""

    systems: tuple[System, ...]
    items: tuple[Item, ...]
    rounds: int
    chat: bool | None = None
    """As for :meth:`Pair.encode`."""
    shard: Shard = WHOLE
    """The part of the items whose decodes are this process's."""
    batch: int = 1
    """Decodes at the same time: their seconds are those of a decode among so many."""

    @property
    def total(self) -> int:
        """Number of decodes."""
        return len(self.systems) * len(self.shard.of(self.items)) * self.rounds

    def conditions(self) -> dict[str, Any]:
        """Return what its decodes depend on, besides the pair, as plain data for :class:`RecordFile`."""
        items = [(item.task.name, item.question, item.max_new_tokens) for item in self.items]
        return {
            "tasks": {item.task.name: item.task.main_metric for item in self.items},
            "systems": {one.name: asdict(one.settings) for one in self.systems},
            "seeds": self.rounds,
            "chat": self.chat,
            "questions": {"count": len(items), "digest": digest(*items)[:16]},
            "shard": asdict(self.shard),
            "batch": self.batch,
        }

    def count_read(self, pair: Pair) -> int:
        """Return how many prompts are read into the pair's memory, by one system or more."""
        sizes = [len(pair.encode(item.prompt, self.chat)) for item in self.items]
        longest = [max(Turn(one, item, 0).settings.max_new_tokens for one in self.systems) for item in self.items]
        return sum(map(pair.reads, sizes, longest))

    def turns(self) -> Iterator[Turn]:
        """Yield every decode: all questions once, then once more; the systems of a question follow each other."""
        for round in range(self.rounds):
            for item in self.shard.of(self.items):
                order = sorted(self.systems, key=lambda one: digest(item.question.id, round, one.name))
                yield from (Turn(one, item, round) for one in order)


def make_benchmark(
    pair: Pair,
    systems: Sequence[System],
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    rounds: int = 1,
    max_new_tokens: int | None = None,
    chat: bool | None = None,
    shard: Shard = WHOLE,
    batch: int = 1,
) -> Benchmark:
    """Return the benchmark of systems on the first questions of tasks, after checks of all that could stop it later.

    Prompts that the models have no room for lose their beginning, unless a memory reads them.
    ``limit``: questions of each task, None for all. ``max_new_tokens``: instead of what each task allows. ``shard``:
    which of them are decoded here. ``batch``: how many at the same time.

    Raises:
        SettingsError, PromptError, PairError: something in it cannot run on this pair; the message names it.
    """
    items = []
    used = pair if any(one.drafts for one in systems) else replace(pair, draft=None)
    for task in tasks:
        new_tokens = task.max_new_tokens if max_new_tokens is None else max_new_tokens
        for question in task.questions(limit):
            prompt = question.prompt
            if new_tokens is not None and not used.reads(len(pair.encode(prompt, chat)), new_tokens):
                prompt = end_that_fits(used, prompt, new_tokens, chat)
            items.append(Item(task, question, prompt, new_tokens))
    benchmark = Benchmark(tuple(systems), tuple(items), rounds, chat, shard, batch)
    require_runnable(pair, benchmark)
    return benchmark


def require_runnable(pair: Pair, benchmark: Benchmark) -> None:
    """Check everything that could stop a benchmark later. Raises: as :func:`make_benchmark`."""
    require_size(benchmark.batch)
    for one in benchmark.systems:
        if benchmark.batch > 1 and not one.is_ours:
            raise SettingsError(
                f"{one.name} decodes one prompt at a time, and batch is {benchmark.batch}; leave it out of the methods"
            )
        if one.drafts and pair.draft is None and not one.history:
            raise PairError(f"{one.name} needs a draft model; load one, or leave it out of the methods")
    for item in benchmark.items:
        size = len(pair.encode(item.prompt, benchmark.chat))
        for turn in (Turn(one, item, 0) for one in benchmark.systems):
            pair.used_by(turn.settings).require_fitting(size, turn.settings.max_new_tokens)
            if not turn.system.is_ours and pair.reads(size, turn.settings.max_new_tokens):
                raise PairError(
                    f"{turn.system.name} cannot read a prompt into a memory, and prompt {item.question.id} of "
                    f"{size:,} tokens goes beyond the context; leave {turn.system.method} out of the methods, or "
                    "load the pair without a memory"
                )


def end_that_fits(pair: Pair, prompt: str, max_new_tokens: int, chat: bool | None) -> str:
    """Return a prompt, without its beginning where the models have no room for all of it.

    Raises:
        SettingsError: there is no room for any prompt.
    """
    room, ids = pair.room_after(max_new_tokens), pair.encode(prompt, chat=False)
    if len(pair.encode(prompt, chat)) <= room:
        return prompt
    for first in range(max(len(ids) - max(room, 0), 0), len(ids)):
        end = pair.detokenize(ids[first:])
        if len(pair.encode(end, chat)) <= room:
            return end
    raise SettingsError(
        f"max_new_tokens is {max_new_tokens}, and the models' context leaves no room for a prompt; lower max_new_tokens"
    )


def run_benchmark(
    pair: Pair,
    benchmark: Benchmark,
    cancel: Cancel = None,
    observe: Callable[[Turn], Sequence[Observer]] = lambda turn: (),
    earlier: Sequence[Run] = (),
) -> Iterator[BenchmarkProgress]:
    """Decode everything; closing the iterator ends it after a decode.

    ``cancel`` is called before each forward of one of our decoders; opponents run to their end. ``observe`` returns
    the observers of a turn of one of our decoders. What was decoded ``earlier`` is left out.

    Yields:
        Progress before each trial of ``auto``, each warm-up and each decode, and after the last decode. What follows a
        decode has its ``run``.

    Raises:
        StoppedError: ``cancel`` returned True.
        ModelError: a model returns logits that are not numbers, or memory runs out.
    """
    total, resolved = benchmark.total, list[System]()
    done = {(run.system, run.task, run.question, run.round) for run in earlier}
    if all(turn.key in done for turn in benchmark.turns()):
        yield BenchmarkProgress(total, total, "decode")
        return
    for one in benchmark.systems:
        resolved.append((yield from _resolve(pair, benchmark, one, cancel, earlier)))
    benchmark = replace(benchmark, systems=tuple(resolved))
    for one in benchmark.systems:
        yield BenchmarkProgress(0, total, "warm-up", one.name)
        first = Turn(one, benchmark.items[0], 0)
        short = replace(first.settings, max_new_tokens=min(WARM_UP_TOKENS, first.settings.max_new_tokens))
        options: dict[str, Any] = {"chat": benchmark.chat, "cancel": cancel, "history": _history_of(one)}
        measure(pair, replace(one, settings=short), first.item.prompt, first.seed, **options)
    run = None
    turns = [turn for turn in benchmark.turns() if turn.key not in done]
    with closing(_runs(pair, benchmark, turns, cancel, observe)) as runs:
        for count, turn in enumerate(turns, total - len(turns)):
            yield BenchmarkProgress(count, total, "decode", turn.system.name, run)
            run = next(runs)
    yield BenchmarkProgress(total, total, "decode", run=run)


def _runs(
    pair: Pair,
    benchmark: Benchmark,
    turns: Sequence[Turn],
    cancel: Cancel,
    observe: Callable[[Turn], Sequence[Observer]],
) -> Generator[Run, None, None]:
    """Yield the decode of each turn, made when it is asked for, or some at the same time."""
    histories = {one.name: _history_of(one) for one in benchmark.systems}
    ended = Event()

    def decode(turn: Turn) -> Run:
        own = {"history": histories[turn.system.name], "cancel": until(ended, cancel), "observers": observe(turn)}
        return _decode(pair, benchmark, turn, own)

    if benchmark.batch == 1:
        yield from map(decode, turns)
        return
    longest = max(turns, key=lambda turn: (turn.settings.max_new_tokens, len(turn.item.prompt)))
    request = DecodeRequest(pair, longest.item.prompt, longest.settings, chat=benchmark.chat, cancel=cancel)
    deque(request.planning(), maxlen=0)
    yield from request.batch(benchmark.batch).map(decode, turns, ended)


def _resolve(
    pair: Pair, benchmark: Benchmark, one: System, cancel: Cancel, earlier: Sequence[Run]
) -> Generator[BenchmarkProgress, None, System]:
    """Resolve what is ``auto``, by measuring on the first question, or as in an earlier run; return the system."""
    first = Turn(one, benchmark.items[0], 0)
    if not first.settings.is_auto:
        return one
    for run in earlier:
        if run.system == one.name:
            values = run.settings | {name: getattr(one.settings, name) for name in ("max_new_tokens", "seed")}
            return replace(
                one,
                settings=DecodingSettings(**{"method": one.settings.method, **values}),
                auto_reason=run.auto_reason,
            )
    request = DecodeRequest(
        pair, first.item.prompt, first.settings, chat=benchmark.chat, cancel=cancel, history=_history_of(one)
    )
    for _ in request.planning():
        yield BenchmarkProgress(0, benchmark.total, "auto", one.name)
    assert request.plan is not None, "a field is auto"
    return replace(one, settings=replace(one.settings, **request.plan.values), auto_reason=request.plan.sentence)


def _history_of(one: System) -> History | None:
    """Return an empty history for a system that keeps one."""
    return History() if one.history else None


def _decode(pair: Pair, benchmark: Benchmark, turn: Turn, own: dict[str, Any]) -> Run:
    """Decode a turn, and score the answer; ``own`` are arguments of :func:`measure`."""
    one, (task, question, prompt, _) = turn.system, turn.item
    limited = replace(one, settings=turn.settings)
    figures = measure(pair, limited, prompt, turn.seed, chat=benchmark.chat, stop=task.until, **own)
    answer = task.answer(figures["text"])
    score, reason = task.score(question, answer)
    return Run(
        system=one.name,
        method=one.method,
        settings={name: getattr(limited.settings, name) for name in fields_read(one.method)},
        auto_reason=one.auto_reason,
        task=task.name,
        question=question.id,
        cluster=question.cluster,
        round=turn.round,
        prompt=prompt,
        references=question.references,
        shortened=prompt != question.prompt,
        answer=answer,
        score=score,
        reason=reason,
        **figures,
    )


def report_benchmark(pair: Pair, benchmark: Benchmark, output: str | None = None, resume: bool = False) -> Report:
    """Run a benchmark to its end, or to Ctrl-C, with its progress on stderr.

    ``output`` is a file for JSON lines: the conditions, then every decode as soon as it ends; with ``resume`` those
    that are there already are not decoded again.

    Raises:
        SettingsError, RecordError: as :class:`RecordFile`.
    """
    here = benchmark.conditions() | conditions(pair)
    with RecordFile(output, here, resume) as file:
        runs = [run_of(record) for record in file.records]
        with suppress(KeyboardInterrupt), ProgressLine("starting", "decode") as bar:
            for step in run_benchmark(pair, benchmark, earlier=runs):
                bar.show(f"{step.doing} {step.name}".strip(), step.done, step.total)
                if step.run is not None:
                    runs.append(step.run)
                    file.append({"record": "decode", **to_plain(step.run)})
    return make_report(runs, here, benchmark.total)
