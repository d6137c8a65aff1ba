"""What visitors ask of the models: a decode, a comparison, a race, an evaluation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import dsbd
from dsbd.api import planning
from dsbd.evaluation.evaluation import Evaluation
from dsbd.evaluation.race import race
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.comparison import Progress, compare
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace

from .asked.evaluation import Asked
from .host.limits import Limits, check_compare, check_decode, check_evaluation
from .pairs.shelf import PAGE
from .traffic.visitors import StopSignal

Steps = Callable[[Pair, StopSignal], Iterator[Any]]


class Job(NamedTuple):
    """What the engine runs."""

    call: str
    """As the log names it."""
    pair: str
    """Key of the pair that decodes."""
    settings: Sequence[DecodingSettings]
    """Of all that is decoded; fields may be ``auto``."""
    check: Callable[[Pair], None]
    """Refuses what passes a limit of this page. Raises: SettingsError, PromptError."""
    times: int
    """How often each of the settings decodes."""
    seconds: int
    """The longest that it may take."""
    steps: Steps
    """The work as plain data, step by step. It may travel to another process: a function of a module, or a part of
    one. Raises: DsbdError; StoppedError once the signal says so."""


def recorded_decode(limits: Limits, prompt: str, settings: DecodingSettings, pair: str = PAGE) -> Job:
    """Measurements of ``auto``, the trace's beginning, each further iteration, the whole trace."""
    return _decode(limits, prompt, settings, pair, _recorded)


def told_decode(limits: Limits, prompt: str, settings: DecodingSettings, pair: str = PAGE) -> Job:
    """The best text after each iteration, with its ids and the iteration's number from 1; then the whole trace."""
    return _decode(limits, prompt, settings, pair, _told)


def _decode(limits: Limits, prompt: str, settings: DecodingSettings, pair: str, steps: Callable[..., Any]) -> Job:
    check = partial(_check, limits, [prompt], [settings])
    return Job("decode", pair, [settings], check, 1, limits.decode_seconds, partial(steps, prompt, settings))


def comparison(
    limits: Limits, prompt: str, settings: DecodingSettings, methods: Sequence[str], runs: int, pair: str = PAGE
) -> Job:
    """Methods side by side; see :func:`dsbd.measure.comparison.compare`."""
    each = [replace(settings, method=method) for method in methods]

    def check(chosen: Pair) -> None:
        _check(limits, [prompt], each, chosen)
        check_compare(limits, each, runs)

    steps = partial(_compared, prompt, settings, list(methods), runs)
    return Job("compare", pair, each, check, runs + 1, limits.compare_seconds, steps)


def race_of(
    limits: Limits, prompts: Sequence[str], contenders: Sequence[Contender], rounds: int, pair: str = PAGE
) -> Job:
    """Contenders in turn; see :func:`dsbd.evaluation.race.race`."""
    each = [contender.settings for contender in contenders]

    def check(chosen: Pair) -> None:
        _check(limits, prompts, each, chosen)
        check_compare(limits, each * len(prompts), rounds)

    steps = partial(_raced, list(prompts), list(contenders), rounds)
    return Job("race", pair, each, check, len(prompts) * rounds + 2, limits.compare_seconds, steps)


def evaluation(limits: Limits, asked: Asked, folder: str) -> Job:
    """What a folder lacks of an evaluation; see :meth:`dsbd.evaluation.evaluation.Evaluation.steps`.

    Raises:
        SettingsError, TaskError: the questions cannot be read.
    """
    exam = asked.exam()
    (run,) = exam.runs
    each = [exam.at_limit(one, run).settings for one in exam.contenders]
    longest = max(run.questions, key=lambda question: len(question.prompt))

    def check(chosen: Pair) -> None:
        check_evaluation(limits, each, len(run.questions), exam.seeds)
        _check(limits, [longest.prompt], each, chosen)

    times = len(run.questions) * exam.seeds
    return Job("evaluate", asked.pair, each, check, times, limits.evaluate_seconds, partial(_evaluated, asked, folder))


def _check(limits: Limits, prompts: Sequence[str], each: Sequence[DecodingSettings], pair: Pair) -> None:
    for prompt in prompts:
        prompt_tokens = len(pair.encode(prompt))
        for settings in each:
            check_decode(limits, settings, pair.target.vocabulary_size, prompt_tokens)


def _recorded(prompt: str, settings: DecodingSettings, pair: Pair, stop: StopSignal) -> Iterator[Any]:
    yield from planning(pair, prompt, settings, stop=stop)
    begun = False
    for update in dsbd.stream(pair, prompt, settings, record=True, stop=stop):
        event: Trace | Iteration | None = update.iteration if begun else update.trace
        yield event if update.result is None else update.result.trace
        begun = True


def _told(prompt: str, settings: DecodingSettings, pair: Pair, stop: StopSignal) -> Iterator[Any]:
    for number, update in enumerate(dsbd.stream(pair, prompt, settings, record=True, stop=stop), 1):
        if update.result is not None:
            yield update.result.trace
        else:
            yield {"text": update.text, "token_ids": update.candidates[0].node.token_ids(), "iteration": number}


def _compared(
    prompt: str, settings: DecodingSettings, methods: list[str], runs: int, pair: Pair, stop: StopSignal
) -> Iterator[Progress]:
    for method in methods:
        for _ in planning(pair, prompt, replace(settings, method=method), stop=stop):
            yield Progress(0, len(methods) * (runs + 1), method)
    yield from compare(pair, prompt, settings, methods, runs, stop)


def _raced(prompts: list[str], contenders: list[Contender], rounds: int, pair: Pair, stop: StopSignal) -> Iterator[Any]:
    yield from race(pair, contenders, prompts, rounds, stop)


def _evaluated(asked: Asked, folder: str, pair: Pair, stop: StopSignal) -> Iterator[Any]:
    yield from Evaluation(pair, asked.exam(), folder).steps(stop)
