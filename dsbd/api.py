"""The public functions: decode a prompt, whole or step by step. Arguments are checked here."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from dsbd.auto.measuring import measure_forests
from dsbd.auto.plan import Plan, PlanProgress
from dsbd.block_search import require_few_blocks
from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.law.beams import Node
from dsbd.methods import DRAFTING_METHODS, has_auto, needs_draft_model, resolve
from dsbd.models.memory import memory_errors
from dsbd.models.pair import Pair
from dsbd.models.processed import Processor
from dsbd.models.ranks import InStep
from dsbd.observer import Observer, RunStart
from dsbd.results import DecodingResult
from dsbd.session import Snapshot
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.steps import value_of
from dsbd.stopping import Check, Enough, Until, check_of, never_enough
from dsbd.tracing.recorder import Recorder
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace

TRYING = "trying out forests"


@dataclass(frozen=True)
class Update(Snapshot):
    """The state that a decode has reached after an iteration, and the record of the iteration."""

    _recorder: Recorder | None = None

    @property
    def iteration(self) -> Iteration | None:
        """Return the trace's record of the iteration; None unless recording."""
        return None if self._recorder is None else self._recorder.latest()

    @property
    def trace(self) -> Trace | None:
        """Return the trace up to here, built when it is read; None unless recording."""
        return None if self._recorder is None else self._recorder.trace()


def decode(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings | None = None,
    record: bool = False,
    observers: Sequence[Observer] = (),
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
    until: Sequence[str] = (),
    processors: Sequence[Processor] = (),
) -> DecodingResult:
    """Decode a prompt to the end; see :func:`stream`."""
    result = None
    for update in stream(pair, prompt, settings, record, observers, chat, stop, until, processors):
        result = update.result
    assert result is not None, "the last update carries the result"
    return result


def stream(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings | None = None,
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
        stop: asked before each forward of a model, while ``auto`` measures too; once it returns True the decode ends
            with a StoppedError, inside an iteration.
        until: texts that end the answer, such as ``["\\n"]``. The decode ends once the text before the first of them is
            settled: every possible result has the same. The result's text still holds the end text and what follows.
        processors: functions of sequences and logits, such as ``transformers.LogitsProcessor``; the logits of both
            models pass through them, and the decode follows the law of the target so processed.

    Raises:
        SettingsError: ``until`` has an empty text, or is given with ``record``: a trace is of a whole decode.
        SettingsError: ``processors`` are given with ``record``, a field ``auto``, or ``mjgd``.
        PromptError: the prompt does not fit the models.
        PairError: the method drafts and the pair has no draft model.
        SettingsError: ``mjgd`` would have too many blocks to search.
        SettingsError: a model is spread over processes, with a field ``auto`` or ``mjgd``.
        ModelError: the processes that a model is spread over are asked different things, or come out of step.
        ModelError: a model returns logits that are not numbers, or memory runs out.
        StoppedError: ``stop`` returned True.
    """
    asked = settings or DecodingSettings()
    prompt_ids = _checked_ids(pair, prompt, asked, chat)
    check = check_of(pair.ranks.agreed(stop) if pair.ranks is not None and stop is not None else stop)
    _check_processors(processors, asked, record)
    resolved = _resolved(pair, prompt_ids, asked, check)
    start = RunStart(pair, prompt, prompt_ids, resolved, Node(None, -1, 0), tuple(processors))
    return _updates(start, Recorder() if record else None, observers, check, _enough(until, record))


def planning(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings,
    chat: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Generator[PlanProgress, None, Plan | None]:
    """Resolve the ``auto`` fields of ``settings`` before :func:`stream` does, step by step; closing it cancels.

    Returns:
        The plan, which is remembered for this pair; None where there is nothing to plan.

    Raises:
        PromptError, PairError, ModelError, StoppedError: as :func:`stream` does.
    """
    prompt_ids = _checked_ids(pair, prompt, settings, chat)
    if not has_auto(settings):
        return None
    with memory_errors(TRYING):
        return (yield from measure_forests(pair, prompt_ids, settings, check_of(stop)))


def plan(pair: Pair, prompt: str, settings: DecodingSettings, stop: Callable[[], bool] | None = None) -> Plan:
    """Return what the ``auto`` fields of ``settings`` resolve to on this pair; at least one must be ``auto``.

    Raises:
        PromptError, PairError, ModelError, StoppedError: as :func:`stream` does.
    """
    found = value_of(planning(pair, prompt, settings, stop=stop))
    assert found is not None, "no field is auto"
    return found


def _updates(
    start: RunStart, recorder: Recorder | None, observers: Sequence[Observer], check: Check, enough: Enough
) -> Iterator[Update]:
    """Yield the decoder's snapshots, with the recorder among the observers, and what keeps processes in step."""
    watching = [*observers, *([] if recorder is None else [recorder])]
    if start.pair.ranks is not None:
        watching.append(InStep(start.pair.ranks))
    with memory_errors("decoding"):
        for snapshot in iterations(start, watching, check, enough):
            result = snapshot.result
            if result is not None and recorder is not None:
                result = replace(result, trace=recorder.trace())
            yield Update(snapshot.pair, snapshot.candidates, result, recorder)


def _checked_ids(pair: Pair, prompt: str, settings: DecodingSettings, chat: bool) -> list[int]:
    if needs_draft_model(settings) and pair.draft is None:
        raise PairError(
            f"method {settings.method} needs a draft model; load one, or use a method other than "
            f"{', '.join(sorted(DRAFTING_METHODS))}"
        )
    if settings.method == "mjgd":
        require_few_blocks(pair.target.vocabulary_size, settings.block)
    if pair.ranks is not None and (has_auto(settings) or settings.method == "mjgd"):
        auto = "auto would measure in each by itself; give numbers"
        reason = "mjgd searches in one; choose another method" if settings.method == "mjgd" else auto
        raise SettingsError(f"a model is spread over {pair.ranks.count} processes, and {reason}")
    prompt_ids = pair.encode(prompt, chat=chat)
    pair.require_room(len(prompt_ids), settings.max_new_tokens)
    return prompt_ids


def _enough(until: Sequence[str], record: bool) -> Enough:
    if isinstance(until, str) or not all(isinstance(text, str) and text for text in until):
        raise SettingsError(f"until is {until!r}; give a list of texts that are not empty")
    if until and record:
        raise SettingsError("until ends a decode early, and a trace is of a whole decode; leave out until or record")
    return Until(until) if until else never_enough


def _check_processors(processors: Sequence[Processor], asked: DecodingSettings, record: bool) -> None:
    """Refuse what processors cannot be combined with."""
    if not processors:
        return
    if not all(callable(processor) for processor in processors):
        raise SettingsError(f"processors is {processors!r}; give functions of ids and logits")
    reasons = {
        "a trace does not hold what they did; leave out record": record,
        "auto measures without them; give numbers": has_auto(asked),
        "mjgd searches blocks without them; choose another method": asked.method == "mjgd",
    }
    for reason, applies in reasons.items():
        if applies:
            raise SettingsError(f"processors are given, and {reason}")


def _resolved(pair: Pair, prompt_ids: list[int], asked: DecodingSettings, check: Check) -> ResolvedSettings:
    if has_auto(asked):
        with memory_errors(TRYING):
            asked = replace(asked, **value_of(measure_forests(pair, prompt_ids, asked, check)).values)
    return resolve(asked)
