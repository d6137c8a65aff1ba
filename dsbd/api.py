"""The public functions: decode a prompt, whole or step by step.

Arguments are checked here; an error names the value and what is allowed.
"""

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dsbd.auto import TRYING, Plan, measure_forests
from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.machine import memory_errors
from dsbd.memory.reading import READING
from dsbd.methods import DRAFTING_METHODS, needs_draft_model, resolve
from dsbd.models.pair import Pair, WindowedPrompt
from dsbd.models.rows.row import Processor
from dsbd.results import PlainResult, brief
from dsbd.session import Enough, Observer, RunStart, Snapshot, Until
from dsbd.settings import METHODS, DecodingSettings
from dsbd.tracing.recorder import Recorder
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace
from dsbd.util import Check, Progress, check_of, value_of


@dataclass(frozen=True)
class DecodingResult(PlainResult):
    """The returned hypothesis, all hypotheses, the counts and times, and the trace."""

    __repr__ = brief

    trace: Trace | None
    """The trace; None unless recorded."""


@dataclass(frozen=True)
class Update(Snapshot):
    """The state that a decode has reached after an iteration, and the record of the iteration."""

    __repr__ = brief

    result: DecodingResult | None
    """Set in the last update."""
    _recorder: Recorder | None = field(default=None, repr=False)

    @property
    def iteration(self) -> Iteration | None:
        """Return the trace's record of the iteration, plain data; None unless recording."""
        return None if self._recorder is None else self._recorder.latest()

    @property
    def trace(self) -> Trace | None:
        """Return the trace up to here, built when it is read; None unless recording."""
        return None if self._recorder is None else self._recorder.trace()


def decode(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings | None = None,
    *,
    record: bool = False,
    observers: Sequence[Observer] = (),
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
    until: Sequence[str] = (),
    processors: Sequence[Processor] = (),
) -> DecodingResult:
    """Decode a prompt to the end; see :func:`stream`."""
    named = {"observers": observers, "chat": chat, "stop": stop, "until": until, "processors": processors}
    (last,) = deque(stream(pair, prompt, settings, record=record, **named), maxlen=1)  # type: ignore[arg-type]
    assert last.result is not None, "the last update carries the result"
    return last.result


def stream(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings | None = None,
    *,
    record: bool = False,
    observers: Sequence[Observer] = (),
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
    until: Sequence[str] = (),
    processors: Sequence[Processor] = (),
) -> Iterator[Update]:
    """Decode a prompt; yield one :class:`Update` per iteration, the last with the result. Closing it cancels.

    The call itself checks the input and measures for ``auto``; only ``stop`` ends those.

    Args:
        pair: from :func:`dsbd.load_pair`.
        prompt: text; empty becomes BOS.
        settings: None is ``DecodingSettings()``. Fields that are ``auto`` are resolved before the first update, by
            measurements of some seconds unless a plan for this pair is known; :func:`planning` does it in steps.
        record: keep a trace, in ``update.iteration``, ``update.trace`` and ``result.trace``.
        observers: they see the start, each iteration and the result, outside the timed phases.
        chat: apply the model's chat template to the prompt.
        stop: called before each forward of a model, also while ``auto`` measures; once it returns True the decode ends
            with a StoppedError, inside an iteration.
        until: texts that end the answer, such as ``["\\n"]``. The decode ends once the text before the first of them is
            settled, that is, the same in every possible result. The result's text still holds the end text and what
            follows.
        processors: functions of sequences and logits, such as ``transformers.LogitsProcessor``; the logits of both
            models pass through them, and the decode follows the law of the processed target.

    Raises:
        SettingsError: an argument is invalid; the message names it.
        SettingsError: ``until`` is given with ``record``: a trace is of a whole decode.
        SettingsError: ``processors`` are given with ``record``, a field ``auto``, or ``mjgd``.
        PromptError: the prompt does not fit the models.
        PairError: the method drafts and the pair has no draft model.
        SettingsError: ``mjgd`` does not find the likeliest block among the beginnings that it may extend.
        ModelError: a model returns logits that are not numbers, or memory runs out.
        StoppedError: ``stop`` returned True.
    """
    asked = _settings_of(pair, settings)
    _check_helpers(observers, stop)
    enough = _enough_of(until, record)
    _check_processors(processors, asked, record)
    ids = _checked_ids(pair, prompt, asked, chat)
    check = check_of(stop)
    window, plan = value_of(_planned(pair, ids, asked, check))
    if plan is not None:
        asked = replace(asked, **plan.values)
    start = RunStart(pair, prompt, window.ids, resolve(asked), tuple(processors), window.memory)
    return _updates(start, Recorder() if record else None, observers, check, enough)


def planning(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings,
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Generator[Progress, None, Plan | None]:
    """Do step by step what :func:`stream` does before its first update; closing it cancels.

    A prompt beyond the context is read into the pair's memory, and the ``auto`` fields of ``settings`` are resolved.
    :func:`stream` then finds both done.

    Returns:
        The plan, which is remembered for this pair; None where there is nothing to plan.

    Raises:
        PromptError, PairError, ModelError, StoppedError: as :func:`stream` does.
    """
    asked = _settings_of(pair, settings)
    _check_helpers((), stop)
    _, found = yield from _planned(pair, _checked_ids(pair, prompt, asked, chat), asked, check_of(stop))
    return found


def _planned(
    pair: Pair, ids: list[int], asked: DecodingSettings, check: Check
) -> Generator[Progress, None, tuple[WindowedPrompt, Plan | None]]:
    """Read a prompt that is too long for the context, and find the plan of ``auto``; None if nothing is ``auto``."""
    with memory_errors(READING):
        window = yield from pair.used_by(asked).fitting(ids, asked.max_new_tokens, check)
    if not asked.is_auto:
        return window, None
    with memory_errors(TRYING):
        return window, (yield from measure_forests(pair, window.ids, asked, check))


def _updates(
    start: RunStart, recorder: Recorder | None, observers: Sequence[Observer], check: Check, enough: Enough | None
) -> Iterator[Update]:
    """Yield the decoder's snapshots as updates; a recorder is an observer."""
    watching = [*observers, *([] if recorder is None else [recorder])]
    with memory_errors("decoding"):
        for snapshot in iterations(start, watching, check, enough):
            result = None
            if snapshot.result is not None:
                trace = None if recorder is None else recorder.trace()
                result = DecodingResult(**vars(snapshot.result), trace=trace)
            yield Update(snapshot.pair, snapshot.candidates, result, recorder)


def _checked_ids(pair: Pair, prompt: str, settings: DecodingSettings, chat: bool) -> list[int]:
    if needs_draft_model(settings) and pair.draft is None:
        raise PairError(
            f"method {settings.method} needs a draft model; load one, or use "
            f"{' or '.join(sorted(set(METHODS) - DRAFTING_METHODS))}, which do not"
        )
    return pair.encode(prompt, chat=chat)


def _settings_of(pair: Any, settings: Any) -> DecodingSettings:
    """Return the settings asked for, the defaults for None."""
    if not isinstance(pair, Pair):
        raise PairError(f"pair is {_named(pair)}; give what dsbd.load_pair or dsbd.make_pair returns")
    if settings is None:
        return DecodingSettings()
    if not isinstance(settings, DecodingSettings):
        remedy = "DecodingSettings.from_dict(...)" if isinstance(settings, dict) else "DecodingSettings(...)"
        raise SettingsError(f"settings is {_named(settings)}; give dsbd.{remedy} or None")
    return settings


def _enough_of(until: Any, record: bool) -> Enough | None:
    is_list = isinstance(until, Collection) and not isinstance(until, str)
    if not is_list or not all(isinstance(text, str) and text for text in until):
        raise SettingsError(f"until is {_named(until)}; give a list of texts that are not empty")
    if until and record:
        raise SettingsError("until ends a decode early, and a trace is of a whole decode; leave out until or record")
    return Until(list(until)) if until else None


def _check_helpers(observers: Any, stop: Any) -> None:
    if not isinstance(observers, Collection) or not all(isinstance(one, Observer) for one in observers):
        raise SettingsError(f"observers is {_named(observers)}; give a list of dsbd.Observer")
    if stop is not None and not callable(stop):
        raise SettingsError(f"stop is {_named(stop)}; give a function without arguments, or None")


def _check_processors(processors: Any, asked: DecodingSettings, record: bool) -> None:
    if not isinstance(processors, Collection) or not all(callable(processor) for processor in processors):
        raise SettingsError(f"processors is {_named(processors)}; give a list of functions of ids and logits")
    reasons = {
        "a trace does not hold what they did; leave out record": record,
        "auto measures without them; give numbers": asked.is_auto,
        "mjgd searches blocks without them; choose another method": asked.method == "mjgd",
    }
    for reason, applies in reasons.items():
        if processors and applies:
            raise SettingsError(f"processors are given, and {reason}")


def _named(value: Any) -> str:
    """Return a small value whole, any other by its type."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a value of type {type(value).__name__}"
