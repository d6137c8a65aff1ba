"""The page's only way to the models: the pairs, whose turn it is to run on them, and who may stop it.

Gradio's queue lets so many runs begin as may share the models, and closes the generator of a run when its visitor
cancels or leaves. Here a run waits until it may share them (``turns.py``), or has them alone where it loads models or
measures time, and where the models serve one decode at a time. On ZeroGPU another process does the work of a run: only
plain data goes in and out, and errors come back as values, which are raised here.
"""

import gc
import json
import logging
import math
import mmap
import struct
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch

from dsbd.api import DecodeRequest
from dsbd.errors import DsbdError, PairError, StoppedError
from dsbd.machine import free_bytes, torch_threads
from dsbd.models.engines.batch import SHARE, Batch
from dsbd.models.loading import BUNDLED, WITH_MEMORY, display_name, load_pair
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import IterationRecord
from dsbd.tracing.trace import Trace
from dsbd.util import BUNDLED_PAIRS, SMOLLM2, cancel_check, each_in

from .comparison import Compared, Costs, beside_others, measure_costs, measure_speed
from .earlier import NOTHING, Sources
from .limits import Limits, bytes_of, check_race, check_run, setting
from .turns import Turn, Turns
from .zerogpu import on_gpu

PROMPT_SLOTS = 256
"""Of a typical prompt."""
WAITING = "Waiting for a run of another visitor …"
ONE_AT_A_TIME = "These models serve one run at a time. "
SECONDS_TO_START, SECONDS_PER_TOKEN, MEASURING_SECONDS = 15, 0.25, 40
"""What is asked of ZeroGPU; the last for settings with ``auto``, which may have to measure first."""
LOGGER = logging.getLogger("dsbd.runs")

TITLES = {
    f"{BUNDLED}:{BUNDLED_PAIRS[1]}": "Questions to SQL",
    f"{BUNDLED}:{BUNDLED_PAIRS[0]}": "Stories",
    WITH_MEMORY: "Long stories",
    SMOLLM2: "Chat",
}
"""The bundled pairs as a visitor reads them: first the one where guessing pays most, last the one to fetch."""
TARGETS = dict(zip(TITLES, ("bundled:sql/target", "bundled/target", "bundled:memory/target", SMOLLM2), strict=True))
"""What traces call their target models."""
BETWEEN = "+"
"""Stands between target and draft in the name of a pair."""


class Pairs:
    """The pairs of the host, by name: ``bundled:sql``, ``TARGET`` or ``TARGET+DRAFT``; the first is the page's own.

    A pair is loaded when somebody uses it, and the least recently used one goes if there are too many: no run may
    use it then. ``tip`` is markup that stands where a pair is chosen, and ``recordings`` are the host's own, by name.
    """

    def __init__(self, names: Sequence[str], most: int = 2, tip: str = "", **how: Any) -> None:
        self.names, self.tip = tuple(dict.fromkeys(names)), tip
        self.recordings: dict[str, Trace] = {}
        self._loaded: OrderedDict[str, Pair] = OrderedDict()
        self._most, self._how = most, how
        self._loading, self._lock = threading.Lock(), threading.Lock()

    @property
    def first(self) -> str:
        """The page's own pair."""
        return self.names[0]

    def title(self, name: str) -> str:
        """Return a pair as a visitor reads it."""
        return TITLES.get(name) or " + ".join(map(display_name, name.split(BETWEEN)))

    def target(self, name: str) -> str:
        """Return what traces call the target model of a pair."""
        return TARGETS.get(name) or display_name(name.split(BETWEEN)[0])

    def check(self, name: Any) -> str:
        """Return the name. Raises: PairError: the host does not offer such a pair."""
        if name not in self.names:
            offered = ", ".join(map(self.title, self.names))
            raise PairError(f"pair is {str(name)[:100]!r}, which this page does not have; it has {offered}")
        return str(name)

    def get(self, name: str, show: Callable[[str], object] = lambda _: None) -> Pair:
        """Return a pair, loaded if it is not in memory. Raises: PairError."""
        with self._loading:
            with self._lock:
                if self.check(name) in self._loaded:
                    self._loaded.move_to_end(name)
                    return self._loaded[name]
                while len(self._loaded) >= self._most:
                    self._loaded.popitem(last=False)
            gc.collect()
            target, _, draft = name.partition(BETWEEN)
            pair = load_pair(target, draft or None, **self._how, show=show)
            with self._lock:
                self._loaded[name] = pair
            return pair

    def loaded(self) -> dict[str, Pair]:
        """Return the pairs in memory."""
        with self._lock:
            return dict(self._loaded)


_BOARD = mmap.mmap(-1, 8 * 4096)
"""A number for each run that may go on, shared with the processes that ZeroGPU forks; 0 ends the run."""
_NUMBER = struct.Struct("q")
_RUNS = count(1)


@dataclass(eq=False)
class StopSignal:
    """Says whether a run must end: it was stopped, or its time is over. It may travel to another process."""

    number: int
    deadline: float
    """In ``time.monotonic``."""

    @classmethod
    def new(cls, seconds: float) -> "StopSignal":
        """Return the signal of a new run that may take so many seconds."""
        signal = cls(next(_RUNS), 0.0)
        signal.begin(seconds)
        _NUMBER.pack_into(_BOARD, signal._offset, signal.number)
        return signal

    def begin(self, seconds: float) -> None:
        """Let the run take so many seconds from now on."""
        self.deadline = time.monotonic() + seconds

    @property
    def _offset(self) -> int:
        return self.number * _NUMBER.size % len(_BOARD)

    @property
    def is_revoked(self) -> bool:
        """True once the run was stopped."""
        return bool(_NUMBER.unpack_from(_BOARD, self._offset) != (self.number,))

    def revoke(self) -> None:
        """End the run the next time that it asks."""
        if not self.is_revoked:
            _NUMBER.pack_into(_BOARD, self._offset, 0)

    def __call__(self) -> bool:
        """Return True if the run must end."""
        return self.is_revoked or time.monotonic() >= self.deadline


class RunUpdate(NamedTuple):
    """The next news of a decode, as plain data."""

    doing: str = ""
    """What goes on before the first iteration, in words; then all else is None."""
    opening: Trace | None = None
    """Before the first iteration: the trace without any; then all else is None."""
    trace: Trace | None = None
    """With the last iteration: the whole trace."""
    iteration: IterationRecord | None = None
    """The record of an iteration."""
    text: str = ""
    """The best text so far."""
    settled: int = 0
    """How many tokens every possible result begins with."""
    beside: Compared | None = None
    """After the last iteration, again and again: what is known of it beside the large model alone."""


class Runner:
    """Runs decodes and races on the pairs of the page: several decodes share the models of a pair that has lanes."""

    def __init__(self, pairs: Pairs, limits: Limits | None = None) -> None:
        self.pairs, self.limits = pairs, limits or Limits()
        self._lock, self._threads = threading.Lock(), torch.get_num_threads()
        self._signals: dict[StopSignal, str] = {}
        self._lent = on_gpu(self._work)
        self._is_lent = self._lent != self._work
        host = torch.device("cpu")
        self.turns = Turns(1 if self._is_lent else self.limits.runs, lambda: SHARE * free_bytes(host))
        self._batches = WeakKeyDictionary[Pair, Batch]()
        """The lanes of pairs whose models several decodes may share."""
        for name in self.pairs.loaded():
            self._load(name)
        self.waiting: Callable[[], int] = lambda: 0
        """How many runs wait in a line before this one: the page's queue."""

    def stop(self, session: str) -> None:
        """End all runs of this visitor before their next forward of a model."""
        with self._lock:
            signals = [signal for signal, who in self._signals.items() if who == session]
        for signal in signals:
            signal.revoke()

    def running(self) -> tuple[int, float | None]:
        """Return how many runs there are, also those that wait, and their earliest deadline, in ``time.monotonic``."""
        with self._lock:
            return len(self._signals), min((signal.deadline for signal in self._signals), default=None)

    def is_waited_for(self) -> bool:
        """Return whether a run waits for the one that has the models."""
        return self.waiting() > 0 or len(self.turns.line) > 0

    def _load(self, name: str) -> Pair:
        """Return a pair, loaded with its lanes if it is not in memory: by a run that has the models alone."""
        pair = self.pairs.get(name)
        if self.turns.most > 1 and pair not in self._batches and all(model.engine == "onnx" for model in pair.models):
            self._batches[pair] = Batch(pair.models, self.turns.most, self.limits.max_new_tokens + PROMPT_SLOTS)
        return pair

    def _is_shared(self, pair: Pair) -> bool:
        return pair in self._batches and self._batches[pair].serves_all

    def _bytes(self, name: str, prompt: str, settings: DecodingSettings) -> int | None:
        """Return about how many bytes a decode takes beside others; None if it cannot run beside others."""
        pair = self.pairs.loaded().get(name)
        return bytes_of(pair, prompt, settings) if pair is not None and self._is_shared(pair) else None

    def _shared(self, turn: Turn, takes: Callable[[], int | None], pair: Pair) -> Batch | None:
        """Let other runs begin beside a decode, if they can; return the lanes of its pair."""
        turn.share(takes())
        return self._batches.get(pair)

    def decode(
        self, session: str, pair: str, prompt: str, settings: DecodingSettings, compare: bool = False,
        sources: Sources = NOTHING,
    ) -> Generator[RunUpdate, None, None]:  # fmt: skip
        """Yield the steps of one decode; with ``compare`` it is then set beside the large model alone, until
        another run waits. Close it to end it. ``sources``: what it guesses from besides its text.

        Raises: SettingsError, PromptError, PairError: beyond a limit of this page. StoppedError: it was stopped; the
        message is the sentence for the visitor. DsbdError: as :func:`dsbd.stream`.
        """
        check = partial(check_run, self.limits, prompts=[prompt], each=[settings])
        takes = partial(self._bytes, pair, prompt, settings)
        turn = Turn(self.turns) if settings.is_auto else Turn(self.turns, takes)
        work = partial(_decoded, prompt=prompt, settings=settings, sources=sources)
        if compare:
            work = partial(work, gives_way=self.is_waited_for)
        if not self._is_lent:
            work = partial(work, share=partial(self._shared, turn, takes), be_alone=turn.be_alone)
        return self._run(session, "decode", pair, [settings], check, work, 1, turn)

    def race(
        self, session: str, pair: str, prompts: Sequence[str], settings: Sequence[DecodingSettings], rounds: int,
        work: Callable[..., Iterator[Any]],
    ) -> Generator[Any, None, None]:  # fmt: skip
        """Yield what a race yields: ``work`` of the pair and ``cancel``. Close it to end. Raises as :meth:`decode`."""

        def check(chosen: Pair) -> None:
            check_race(self.limits, settings, len(prompts), rounds)
            check_run(self.limits, chosen, prompts, settings)

        return self._run(session, "race", pair, settings, check, work, len(prompts) * rounds + 2, Turn(self.turns))

    def costs(self, session: str, pair: str, prompt: str) -> Costs | None:
        """Return what passes of a pair cost here. None: it is not known, somebody runs, or it is ZeroGPU."""
        if self._is_lent or self.running()[0]:
            return None

        def work(pair: Pair, cancel: StopSignal) -> Iterator[Costs | None]:
            yield measure_costs(pair, prompt, lambda: cancel() or self.is_waited_for())

        try:
            *_, costs = self._run(session, "costs", pair, [], lambda _: None, work, 0, Turn(self.turns))
        except DsbdError:
            return None
        return costs

    def _run(
        self, session: str, call: str, pair: str, settings: Sequence[DecodingSettings],
        check: Callable[[Pair], None], work: Callable[..., Iterator[Any]], times: int, turn: Turn,
    ) -> Generator[Any, None, None]:  # fmt: skip
        began, outcome = time.monotonic(), "stopped"  # a generator that is closed ends without a word
        limit = "evaluate_seconds" if call == "race" else "decode_seconds"
        seconds = getattr(self.limits, limit)
        try:
            with self._signal(session) as signal, turn:
                for _ in turn.begin(cancel_check(signal)):
                    yield RunUpdate(self._why_waiting(pair))
                signal.begin(seconds)
                with torch_threads(self._threads):
                    check(self._load(pair))
                lent = min(seconds, SECONDS_TO_START + _gpu_seconds(settings, times))
                with closing(self._lent(lent, pair, work, signal)) as values:
                    for value in each_in(partial(torch_threads, self._threads), values):
                        if isinstance(value, DsbdError):
                            raise value
                        yield value
            outcome = "done"
        except StoppedError:
            outcome = "stopped" if signal.is_revoked else "time limit"
            late = f"Stopped after {seconds} s, the longest a run may take on this page ({setting(limit)})."
            raise StoppedError("Stopped." if signal.is_revoked else late) from None
        except DsbdError:
            outcome = "refused"
            raise
        except Exception:
            outcome = "fault"
            raise
        finally:
            _log(call, [one.method for one in settings], time.monotonic() - began, outcome)

    def _why_waiting(self, name: str) -> str:
        pair = self.pairs.loaded().get(name)
        return WAITING if pair is None or self._is_shared(pair) else ONE_AT_A_TIME + WAITING

    @contextmanager
    def _signal(self, session: str) -> Iterator[StopSignal]:
        signal = StopSignal.new(math.inf)
        with self._lock:
            self._signals[signal] = session
        try:
            yield signal
        finally:
            with self._lock:
                del self._signals[signal]

    def _work(
        self, seconds: int, pair: str, work: Callable[..., Iterator[Any]], cancel: StopSignal
    ) -> Generator[Any, None, None]:
        """Use the models, on ZeroGPU for at most so many seconds."""
        problem: DsbdError | None = None
        try:
            yield from work(self.pairs.get(pair), cancel=cancel)
        except DsbdError as error:
            problem = type(error)(*error.args)  # without the frames that raised it, which hold a lane
        if problem is not None:
            yield problem


def _decoded(
    pair: Pair, prompt: str, settings: DecodingSettings, cancel: StopSignal, sources: Sources,
    gives_way: Callable[[], bool] | None = None, share: Callable[[Pair], Batch | None] = lambda _: None,
    be_alone: Callable[[], bool] = lambda: True,
) -> Iterator[RunUpdate]:  # fmt: skip
    """``share`` lets others run beside the decode; ``be_alone`` has the models alone, if nobody else needs them."""
    known = partial(sources.options, pair)
    request = DecodeRequest(pair, prompt, settings, record=True, cancel=cancel, **known())
    for before in request.planning():
        yield RunUpdate(f"{before.doing.capitalize()}: {before.done} of {before.total} …")
    opening: Trace | None = None
    batch = share(pair)  # what measures is over
    updates = request.updates() if batch is None else each_in(batch.joined, request.updates())
    for update in updates:
        if opening is None and update.recorder is not None:
            opening = update.recorder.opening()
            yield RunUpdate(opening=opening)
        trace = None if update.result is None else update.result.trace
        yield RunUpdate("", None, trace, update.iteration, update.text, len(update.settled_ids))
    result = update.result
    if gives_way and result is not None and result.settings.draft_depth:
        if not be_alone():
            yield RunUpdate(beside=beside_others(result))
            return
        beside = measure_speed(pair, prompt, result, lambda: cancel() or gives_way(), known)
        yield from (RunUpdate(beside=one) for one in beside)


def _gpu_seconds(settings: Sequence[DecodingSettings], times: int) -> int:
    measuring = MEASURING_SECONDS * sum(one.is_auto for one in settings)
    return measuring + int(SECONDS_PER_TOKEN * times * sum(one.max_new_tokens for one in settings))


def _log(call: str, methods: Sequence[str], seconds: float, outcome: str) -> None:
    """Write a line of JSON for a run. No line holds a prompt, a text or a visitor."""
    line = {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "call": call,
        "methods": list(dict.fromkeys(methods)),
        "seconds": round(seconds, 3),
        "outcome": outcome,
    }
    LOGGER.log(logging.INFO if outcome in ("done", "stopped") else logging.WARNING, json.dumps(line))


def set_up_log(level: str) -> None:
    """Write the lines to standard error. ``level``: info (every run), warning (only failed ones), off."""
    LOGGER.handlers = [] if level == "off" else [logging.StreamHandler(sys.stderr)]
    LOGGER.setLevel(logging.CRITICAL if level == "off" else level.upper())
    LOGGER.propagate = False
