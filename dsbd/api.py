"""The public functions: decode a prompt, or several, whole or step by step.

Arguments are checked here; an error names the value and what is allowed.
"""

import inspect
from collections import deque
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import replace
from typing import Any, overload

from dsbd.auto import TRYING, Plan, measure_forests
from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.machine import memory_errors
from dsbd.memory.reading import READING
from dsbd.methods import DRAFTING_METHODS, needs_draft_model, resolve
from dsbd.models.pair import Pair, Prompt, WindowedPrompt, is_list
from dsbd.models.states.state import Processor, functions_of_ids
from dsbd.results import DecodingResult
from dsbd.session import Observer, RunStart, StoppingCriterion, Update, is_answered
from dsbd.settings import FIELDS, METHODS, DecodingSettings, refuse_names
from dsbd.tracing.recorder import Recorder
from dsbd.util import CancelCheck, Progress, cancel_check, value_of


@overload
def decode(
    pair: Pair, prompt: list[str], settings: DecodingSettings | None = None, **asked: Any
) -> list[DecodingResult]: ...
@overload
def decode(pair: Pair, prompt: Prompt, settings: DecodingSettings | None = None, **asked: Any) -> DecodingResult: ...
def decode(pair: Pair, prompt: Any, settings: DecodingSettings | None = None, **asked: Any) -> Any:
    """Decode a prompt to the end, or each text of a list in turn, as if it came alone: then return a list of results.

    Takes what :func:`stream` takes, and raises what it raises; all texts are checked before the first is decoded.
    """
    if is_list(prompt, str):
        decodes = [stream(pair, text, settings, **asked) for text in prompt]
        return [_result_of(one) for one in decodes]
    return _result_of(stream(pair, prompt, settings, **asked))


def _result_of(updates: Generator[Update, None, None]) -> DecodingResult:
    (last,) = deque(updates, maxlen=1)
    assert last.result is not None, "the last update carries the result"
    return last.result


def stream(
    pair: Pair,
    prompt: Prompt,
    settings: DecodingSettings | None = None,
    *,
    record: bool = False,
    observers: Sequence[Observer] = (),
    chat: bool | None = None,
    stop: str | Sequence[str] | StoppingCriterion = (),
    cancel: Callable[[], bool] | None = None,
    processors: Sequence[Processor] = (),
    **fields: Any,
) -> Generator[Update, None, None]:
    """Decode a prompt; yield one :class:`Update` per iteration, the last with the result. Closing it cancels.

    The call itself checks the input and measures for ``auto``; only ``cancel`` ends those.

    Args:
        pair: from :func:`dsbd.load_pair`.
        prompt: a text, its ids, or the messages of a chat, as :meth:`dsbd.Pair.encode` takes them. Of ids and messages
            the trace holds the decoded text.
        settings: None is ``DecodingSettings()``. Fields that are ``auto`` are resolved before the first update, by
            measurements of some seconds unless a plan for this pair is known; :func:`planning` does it in steps.
        record: keep a trace, in ``update.iteration``, ``update.trace`` and ``result.trace``.
        observers: they see the start, each iteration and the result, outside the timed phases.
        chat: send the prompt as a user's turn, by the model's chat template. None: where there is one.
        stop: a text that ends the answer, such as ``"\\n"``, or several. The decode ends once the text before the first
            of them is settled, that is, the same in every possible result. The result's text ends there; its tokens
            and beams are whole. Or a function of the :class:`Update`: once it returns True the decode ends as it is.
        cancel: called before each forward of a model, also while ``auto`` measures; once it returns True the decode
            ends with a StoppedError, inside an iteration.
        processors: functions of sequences and logits, such as ``transformers.LogitsProcessor``; the logits of both
            models pass through them, and the decode follows the distribution of the processed target.
        fields: settings by name, such as ``temperature=0.7``, instead of those of ``settings``.

    Raises:
        SettingsError: an argument is invalid; the message names it.
        SettingsError: ``stop`` is a function, and ``record`` is given: a trace does not hold why it ends.
        SettingsError: ``processors`` are given with ``record``, a field ``auto``, or ``mjgd``.
        PromptError: the prompt does not fit the models.
        PairError: the method drafts and the pair has no draft model.
        SettingsError: ``mjgd`` does not find the likeliest block among the beginnings that it may extend.
        ModelError: a model returns logits that are not numbers, or memory runs out.
        StoppedError: ``cancel`` returned True.
    """
    asked, ids, check = _checked(pair, prompt, settings, chat, cancel, **fields)
    if not isinstance(observers, Collection) or not all(isinstance(one, Observer) for one in observers):
        raise SettingsError(f"observers is {_named(observers)}; give a list of dsbd.Observer")
    ends, enough = _ends_of(stop, record)
    _check_processors(processors, asked, record)
    window, plan = value_of(_planned(pair, asked, ids, check))
    if plan is not None:
        asked = replace(asked, **plan.values)
    resolved = resolve(asked)
    processors = functions_of_ids(processors, resolved, several=False)
    text = prompt if isinstance(prompt, str) else pair.detokenize(ids)
    start = RunStart(pair, text, window.ids, resolved, processors, window.memory, ends)
    return _updates(start, Recorder() if record else None, observers, check, enough)


def planning(
    pair: Pair,
    prompt: Prompt,
    settings: DecodingSettings,
    chat: bool | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Generator[Progress, None, Plan | None]:
    """Do step by step what :func:`stream` does before its first update; closing it cancels.

    A prompt beyond the context is read into the pair's memory, and the ``auto`` fields of ``settings`` are resolved.
    :func:`stream` then finds both done.

    Returns:
        The plan, which is remembered for this pair; None where there is nothing to plan.

    Raises:
        PromptError, PairError, ModelError, StoppedError: as :func:`stream` does.
    """
    _, plan = yield from _planned(pair, *_checked(pair, prompt, settings, chat, cancel))
    return plan


def _planned(
    pair: Pair, asked: DecodingSettings, ids: list[int], check: CancelCheck
) -> Generator[Progress, None, tuple[WindowedPrompt, Plan | None]]:
    """Read a prompt that is too long for the context, and find the plan of ``auto``; None if nothing is ``auto``."""
    with memory_errors(READING):
        window = yield from pair.used_by(asked).fitting(ids, asked.max_new_tokens, check)
    if not asked.is_auto:
        return window, None
    with memory_errors(TRYING):
        return window, (yield from measure_forests(pair, window.ids, asked, check))


def _updates(
    start: RunStart,
    recorder: Recorder | None,
    observers: Sequence[Observer],
    check: CancelCheck,
    enough: StoppingCriterion | None,
) -> Generator[Update, None, None]:
    """Yield the decoder's updates with what is recorded; a recorder is an observer."""
    watching = [*observers, *([] if recorder is None else [recorder])]
    with memory_errors("decoding"):
        for update in iterations(start, watching, check, enough):
            result = update.result
            if result is not None and recorder is not None:
                result = replace(result, trace=recorder.trace())
            iteration = None if recorder is None else recorder.latest()
            yield replace(update, result=result, recorder=recorder, iteration=iteration)


def _checked(
    pair: Any, prompt: Any, settings: Any, chat: bool | None, cancel: Any, **named: Any
) -> tuple[DecodingSettings, list[int], CancelCheck]:
    """Return the settings asked for, the defaults for None; the ids of the prompt; and what ``cancel`` checks."""
    if not isinstance(pair, Pair):
        raise PairError(f"pair is {_named(pair)}; give what dsbd.load_pair or dsbd.make_pair returns")
    asked = DecodingSettings() if settings is None else settings
    if not isinstance(asked, DecodingSettings):
        remedy = "DecodingSettings.from_dict(...)" if isinstance(settings, dict) else "DecodingSettings(...)"
        raise SettingsError(f"settings is {_named(settings)}; give dsbd.{remedy} or None")
    refuse_names(named.keys() - FIELDS.keys(), [*inspect.signature(stream).parameters][3:-1])
    asked = replace(asked, **named)
    if cancel is not None and not callable(cancel):
        raise SettingsError(f"cancel is {_named(cancel)}; give a function without arguments, or None")
    if needs_draft_model(asked) and pair.draft is None:
        raise PairError(
            f"method {asked.method} needs a draft model; load one, or use "
            f"{' or '.join(sorted(set(METHODS) - DRAFTING_METHODS))}, which do not"
        )
    if asked.method == "mjsd" and pair.source is not None:
        raise SettingsError(
            f"method mjsd compares the probabilities of two models, and {pair.source.record.id} has none; take dsbd"
        )
    return asked, pair.encode(prompt, chat=chat), cancel_check(cancel)


def _ends_of(stop: Any, record: bool) -> tuple[tuple[str, ...], StoppingCriterion | None]:
    """Return the texts that end the answer, and what decides after an iteration whether the decode ends."""
    if callable(stop):
        try:
            inspect.signature(stop).bind(None)
        except TypeError:
            raise SettingsError("stop does not take an update; a function without arguments is cancel") from None
        except ValueError:  # some builtin functions do not say what they take
            pass
        if record:
            raise SettingsError(
                "stop is a function, and a trace does not hold why it ends; give texts, or leave out record"
            )
        return (), stop
    ends = (stop,) if isinstance(stop, str) else () if stop is None else stop
    if not isinstance(ends, Collection) or not all(isinstance(text, str) and text for text in ends):
        raise SettingsError(
            f"stop is {_named(stop)}; give a text, a list of texts, none empty, or a function of the update"
        )
    return tuple(ends), is_answered if ends else None


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
