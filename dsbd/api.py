"""The public functions: decode a prompt, or several, whole or step by step.

Arguments are checked here; an error names the value and what is allowed.
"""

import inspect
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from threading import Event
from typing import Any, Literal, TypeVar, overload

from typing_extensions import ParamSpec

from dsbd.auto import TRYING, Plan, measure_forests
from dsbd.decoder import iterations
from dsbd.drafts.history import History
from dsbd.drafts.lookup import Known
from dsbd.errors import DsbdError, ModelError, PairError, PromptError, SettingsError
from dsbd.machine import memory_errors
from dsbd.memory.reading import READING
from dsbd.methods import DRAFTING_METHODS, needs_draft_model, resolve
from dsbd.models.engines.batch import Batch, require_size, until
from dsbd.models.pair import Pair, Prompt, ids_of, is_list
from dsbd.models.states.state import Processor, functions_of_ids
from dsbd.results import DecodingResult
from dsbd.session import Observer, RunStart, StoppingCriterion, Update
from dsbd.settings import FIELDS, METHODS, DecodingSettings, refuse_names
from dsbd.tracing.recorder import Recorder
from dsbd.util import Progress, cancel_check

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@overload
def decode(
    pair: Pair, prompt: list[str], settings: DecodingSettings | None = None, **options: Any
) -> list[DecodingResult]: ...
@overload
def decode(pair: Pair, prompt: Prompt, settings: DecodingSettings | None = None, **options: Any) -> DecodingResult: ...
def decode(pair: Pair, prompt: Any, settings: DecodingSettings | None = None, **options: Any) -> Any:
    """Decode a prompt to the end, or each text of a list in turn, as if it came alone: then return a list of results.

    Takes what :func:`stream` takes, and raises what it raises; all texts are checked before the first is decoded.
    :func:`decode_many` goes on where one of many fails.
    """
    if is_list(prompt, str):
        for text in prompt:
            DecodeRequest(pair, text, settings, **options)
        return list(decode_many(pair, prompt, settings, **options))
    return _result_of(stream(pair, prompt, settings, **options))


@overload
def decode_many(
    pair: Pair, prompts: Iterable[Prompt], settings: DecodingSettings | None = None, *,
    on_error: Literal["raise"] = "raise", batch: int = 1, **options: Any,
) -> Iterator[DecodingResult]: ...  # fmt: skip
@overload
def decode_many(
    pair: Pair, prompts: Iterable[Prompt], settings: DecodingSettings | None = None, *,
    on_error: Literal["raise", "keep"], batch: int = 1, **options: Any,
) -> Iterator[DecodingResult | DsbdError]: ...  # fmt: skip
def decode_many(
    pair: Pair, prompts: Iterable[Prompt], settings: DecodingSettings | None = None, *,
    on_error: str = "raise", batch: int = 1, **options: Any,
) -> Iterator[Any]:  # fmt: skip
    """Decode prompts, each as if it came alone; yield a result for each, in order.

    Prompts are taken from the iterable one by one, with ``batch`` up to four batches ahead, so there may be more than
    fit into memory.

    Args:
        pair: from :func:`dsbd.load_pair`.
        prompts: any iterable of what :func:`stream` takes as a prompt.
        settings: as for :func:`stream`.
        on_error: ``keep`` yields the error of a prompt that fails in the place of its result, and goes on; ``raise``
            raises it. What is wrong for every prompt, such as a setting, is raised always, and so is a StoppedError.
        batch: prompts that are decoded at the same time, in threads, 1 to 256; fewer where the memory holds no more.
            Where a model runs on ONNX Runtime, one forward serves all that wait for it. What is a function, such as
            ``stop`` or ``processors``, is called by several threads, and must not wait for another decode.
        options: what else :func:`stream` takes.

    Raises:
        SettingsError, PairError: at the call, or at the first prompt: an argument is invalid.
        DsbdError: with ``raise``, what :func:`stream` raises.
    """
    fields = {name: value for name, value in options.items() if name not in _named_options()}
    _checked_settings(pair, settings, fields, _knows(options.get("guess"), options.get("history")))
    if on_error not in ("raise", "keep"):
        raise SettingsError(f"on_error is {_named(on_error)}; give 'raise' or 'keep'")
    if isinstance(prompts, (str, Mapping)) or not isinstance(prompts, Iterable):
        raise SettingsError(f"prompts is {_named(prompts)}; give an iterable of prompts, and a single one to decode")
    require_size(batch)
    for name, reason in (("observers", "see one decode at a time"), ("history", "grows from answer to answer")):
        if batch > 1 and options.get(name):
            raise SettingsError(f"{name} {reason}, and batch is {batch}; leave one of them out")
    keep = on_error == "keep"
    if batch == 1:
        return _in_turn(keep, pair, prompts, settings, options)
    return _together(keep, pair, prompts, settings, options, batch)


def _in_turn(
    keep: bool, pair: Pair, prompts: Iterable[Any], settings: DecodingSettings | None, options: dict[str, Any]
) -> Iterator[Any]:
    for prompt in prompts:
        yield _result_or_error(keep, _request_or_error(keep, pair, prompt, settings, options))


def _together(
    keep: bool, pair: Pair, prompts: Iterable[Any], settings: DecodingSettings | None, options: dict[str, Any],
    size: int,
) -> Iterator[Any]:  # fmt: skip
    """Plan in turn, because ``auto`` measures, and decode together."""
    ended, cancel = Event(), options.get("cancel")
    if cancel is None or callable(cancel):
        options = options | {"cancel": until(ended, cancel)}
    requests, ahead = (_request_or_error(keep, pair, one, settings, options, True) for one in prompts), list[Any]()
    for request in requests:
        ahead.append(request)
        if isinstance(request, DecodeRequest):
            work = partial(_result_or_error, keep)
            yield from request.batch(size).map(work, chain(ahead, requests), ended)
            return
    yield from ahead


OF_ONE_PROMPT = (PromptError, ModelError, SettingsError)
"""The errors of a prompt, once all that every prompt shares is checked."""


def _request_or_error(
    keep: bool, pair: Pair, prompt: Any, settings: DecodingSettings | None, options: dict[str, Any],
    is_in_batch: bool = False,
) -> "DecodeRequest | DsbdError":  # fmt: skip
    """Return a prompt's request, planned, or with ``keep`` an error that concerns this prompt alone."""
    concerns_prompt: tuple[type[DsbdError], ...] = (PromptError,)
    try:
        request = DecodeRequest(pair, prompt, settings, **options)
        request.is_in_batch, concerns_prompt = is_in_batch, OF_ONE_PROMPT
        deque(request.planning(), maxlen=0)
    except concerns_prompt as error:
        if not keep:
            raise
        return _without_frames(error)
    return request


def _result_or_error(keep: bool, request: "DecodeRequest | DsbdError") -> DecodingResult | DsbdError:
    """Return the result of a request, or with ``keep`` the error of its prompt."""
    if isinstance(request, DsbdError):
        return request
    try:
        return _result_of(request.updates())
    except OF_ONE_PROMPT as error:
        if not keep:
            raise
        return _without_frames(error)


def _without_frames(error: DsbdError) -> DsbdError:
    """Return an error without the frames that raised it, whose tensors it would keep."""
    return type(error)(*error.args)


def _result_of(updates: Generator[Update, None, None]) -> DecodingResult:
    (last,) = deque(updates, maxlen=1)
    assert last.result is not None, "the last update carries the result"
    return last.result


class DecodeRequest:
    """A decode whose input is checked and encoded: run :meth:`planning`, then :meth:`updates`.

    Takes what :func:`stream` takes, which does both; raises what it raises.
    """

    def __init__(
        self,
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
        guess: Any = (),
        history: History | None = None,
        **fields: Any,
    ) -> None:
        self.settings = _checked_settings(pair, settings, fields, _knows(guess, history))
        if pair.draft is None and needs_draft_model(self.settings):
            pair = pair.copying
        if cancel is not None and not callable(cancel):
            raise SettingsError(f"cancel is {_named(cancel)}; give a function without arguments, or None")
        self.ids = pair.encode(prompt, chat=chat)
        self._known = known_of(pair, guess, history, self.ids)
        self.plan: Plan | None = None
        """What ``auto`` resolves to, once it is found; None if nothing is ``auto``."""
        self.is_in_batch = False
        """Whether others are decoded at the same time, with the same processors."""
        if not isinstance(observers, Collection) or not all(isinstance(one, Observer) for one in observers):
            raise SettingsError(f"observers is {_named(observers)}; give a list of dsbd.Observer")
        self._stop, self._enough = _ends_of(stop, record)
        _check_processors(processors, self.settings, record)
        pair.used_by(self.settings).require_fitting(len(self.ids), self.settings.max_new_tokens)
        self._pair, self._text, self._processors = pair, prompt if isinstance(prompt, str) else None, processors
        self._observers, self._check = observers, cancel_check(cancel)
        self._recorder = Recorder() if record else None

    def planning(self) -> Generator[Progress, None, None]:
        """Read a prompt beyond the context into the pair's memory, and resolve ``auto``; closing it cancels."""
        pair, settings = self._pair, self.settings
        with memory_errors(READING):
            self._window = yield from pair.used_by(settings).fitting(self.ids, settings.max_new_tokens, self._check)
        if settings.is_auto:
            with memory_errors(TRYING):
                self.plan = yield from measure_forests(pair, self._window.ids, settings, self._check, self._known)

    def updates(self) -> Generator[Update, None, None]:
        """Decode, once all is planned."""
        return self._run(self.start())

    def start(self) -> RunStart:
        """Return what the decode starts from, once all is planned."""
        resolved = resolve(self.settings if self.plan is None else replace(self.settings, **self.plan.values))
        processors = functions_of_ids(self._processors, resolved, several=self.is_in_batch)
        text = self._pair.detokenize(self.ids) if self._text is None else self._text
        window = self._window
        return RunStart(self._pair, text, window.ids, resolved, processors, window.memory, self._stop, self._known)

    def batch(self, size: int) -> Batch:
        """Return a batch for so many decodes like this one, or for as many as fit the memory, once all is planned."""
        return Batch(self._pair.used_by(self.settings).models, size, self.start().room)

    def _run(self, start: RunStart) -> Generator[Update, None, None]:
        """Yield the decoder's updates with what is recorded; a recorder is an observer."""
        recorder = self._recorder
        observers = [*self._observers, *([] if recorder is None else [recorder])]
        with memory_errors("decoding"):
            for update in iterations(start, observers, self._check, self._enough):
                if recorder is not None:
                    result = update.result and replace(update.result, trace=recorder.trace())
                    update = replace(update, result=result, recorder=recorder, iteration=recorder.latest())
                if update.result is not None and self._known.history is not None:
                    self._known.history.add(update.result.token_ids, start.prompt_ids)
                yield update


def _takes(arguments_of: Callable[Arguments, Any]) -> Callable[[Callable[..., Result]], Callable[Arguments, Result]]:
    """Give a function the signature of another one, for editors, mypy and ``help``."""

    def signed(function: Callable[..., Result]) -> Callable[Arguments, Result]:
        returns = inspect.signature(function).return_annotation
        signature = inspect.signature(arguments_of).replace(return_annotation=returns)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return signed


@_takes(DecodeRequest)
def stream(*arguments: Any, **options: Any) -> Generator[Update, None, None]:
    """Decode a prompt; yield one :class:`Update` per iteration, the last with the result. Closing it cancels.

    The call itself checks the input and measures for ``auto``; only ``cancel`` ends those.

    Args:
        pair: from :func:`dsbd.load_pair`.
        prompt: a text, its ids, or the messages of a chat, as :meth:`dsbd.Pair.encode` takes them. Of ids and messages
            the trace holds the decoded text.
        settings: None is ``DecodingSettings()``. Fields that are ``auto`` are resolved before the first update, by
            measurements of some seconds unless a plan for this pair is known; :class:`DecodeRequest` does it in steps.
        record: keep a trace, in ``update.iteration``, ``update.trace`` and ``result.trace``.
        observers: they see the start, each iteration and the result, outside the timed phases.
        chat: send the prompt as a user's turn, by the model's chat template. None: where there is one.
        stop: a text that ends the answer, such as ``"\\n"``, or several. The decode ends at the token with which the
            text before the first of them is settled, that is, the same in every possible result. The result's text
            ends there; its tokens and beams are whole. Or a function of the :class:`Update`: once it returns True the
            decode ends as it is.
        cancel: called before each forward of a model, also while ``auto`` measures; once it returns True the decode
            ends with a StoppedError, inside an iteration.
        processors: functions of sequences and logits, such as ``transformers.LogitsProcessor``; the logits of both
            models pass through them, and the decode follows the distribution of the processed target.
        guess: a text that you expect, its ids, or a list of such. Guesses are copied from it wherever it fits: the more
            of it is right, the faster the decode. It changes what is written as little as another draft model would.
        history: earlier answers, to guess from; this one is added once it is complete. Nothing else keeps an answer
            beyond its decode. A trace holds ``guess``, but no history.
        fields: settings by name, such as ``temperature=0.7``, instead of those of ``settings``.

    Raises:
        SettingsError: an argument is invalid; the message names it.
        SettingsError: ``stop`` is a function, and ``record`` is given: a trace does not hold why it ends.
        SettingsError: ``guess`` or ``history`` is given, and nothing is drafted, or the method is ``mjsd``.
        SettingsError: ``processors`` are given with ``record``, a field ``auto``, or ``mjgd``.
        PromptError: the prompt does not fit the models.
        PairError: the method drafts and the pair has no draft model.
        SettingsError: ``mjgd`` does not find the likeliest block among the beginnings that it may extend.
        ModelError: a model returns logits that are not numbers, or memory runs out.
        StoppedError: ``cancel`` returned True.
    """
    request = DecodeRequest(*arguments, **options)
    deque(request.planning(), maxlen=0)
    return request.updates()


def _named_options() -> list[str]:
    """Return the options of :func:`stream` that are no settings."""
    return [*inspect.signature(DecodeRequest).parameters][3:-1]


def _knows(guess: Any, history: Any) -> bool:
    """Return True where a guess or a history is given."""
    return history is not None or not (guess is None or (isinstance(guess, (str, list, tuple)) and not guess))


def _checked_settings(pair: Any, settings: Any, fields: dict[str, Any], knows: bool) -> DecodingSettings:
    """Return the settings with the fields given by name; None is the defaults. ``knows``: with guess or history."""
    if not isinstance(pair, Pair):
        raise PairError(f"pair is {_named(pair)}; give what dsbd.load_pair or dsbd.make_pair returns")
    settings = DecodingSettings() if settings is None else settings
    if not isinstance(settings, DecodingSettings):
        remedy = "DecodingSettings.from_dict(...)" if isinstance(settings, dict) else "DecodingSettings(...)"
        raise SettingsError(f"settings is {_named(settings)}; give dsbd.{remedy} or None")
    refuse_names(fields.keys() - FIELDS.keys(), _named_options())
    settings = replace(settings, **fields)
    if knows and not needs_draft_model(settings):
        raise SettingsError(
            f"guess or history is given, and method {settings.method} drafts nothing here; leave it out, or take "
            f"{' or '.join(sorted(DRAFTING_METHODS - {'mjsd'}))} with a draft_depth above 0"
        )
    if needs_draft_model(settings) and pair.draft is None and not knows:
        raise PairError(
            f"method {settings.method} needs a draft model; load one, give guess or history, or use "
            f"{' or '.join(sorted(set(METHODS) - DRAFTING_METHODS))}, which do not"
        )
    if settings.method == "mjsd" and (knows or pair.source is not None):
        name = "a copied guess" if pair.source is None else pair.source.record.id
        raise SettingsError(f"method mjsd compares the probabilities of two models, and {name} has none; take dsbd")
    return settings


def known_of(pair: Pair, guess: Any, history: Any, prompt_ids: Sequence[int]) -> Known:
    """Return what guesses are copied from besides the text. Raises: SettingsError, PromptError."""
    if history is not None and not isinstance(history, History):
        raise SettingsError(f"history is {_named(history)}; give a dsbd.History, or None")
    several = [] if guess is None else [guess] if isinstance(guess, str) or ids_of(guess) else guess
    if not isinstance(several, Collection) or not all(one if isinstance(one, str) else ids_of(one) for one in several):
        raise SettingsError(f"guess is {_named(guess)}; give a text, ids, or a list of such, none empty")
    guesses = [pair.continuation(prompt_ids, one) if isinstance(one, str) else ids_of(one) or [] for one in several]
    every, size = {token for ids in guesses for token in ids}, pair.target.vocabulary_size
    spans = {"guess": [*every], "history": [] if history is None else [history.largest_id]}
    for name, ids in spans.items():
        if ids and (max(ids) >= size or (name == "guess" and min(ids) < 0)):
            raise SettingsError(
                f"{name} has ids from {min(ids)} to {max(ids)}; allowed are 0 to {size - 1}, by the tokenizer of "
                f"{pair.target.id}"
            )
    return Known(guesses, history)


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
    return tuple(ends), None


def _check_processors(processors: Any, settings: DecodingSettings, record: bool) -> None:
    if not isinstance(processors, Collection) or not all(callable(processor) for processor in processors):
        raise SettingsError(f"processors is {_named(processors)}; give a list of functions of ids and logits")
    reasons = {
        "a trace does not hold what they did; leave out record": record,
        "auto measures without them; give numbers": settings.is_auto,
        "mjgd searches blocks without them; choose another method": settings.method == "mjgd",
    }
    for reason, applies in reasons.items():
        if processors and applies:
            raise SettingsError(f"processors are given, and {reason}")


def _named(value: Any) -> str:
    """Return a small value whole, any other by its type."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a value of type {type(value).__name__}"
