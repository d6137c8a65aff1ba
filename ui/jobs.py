"""What the page asks of the models: a decode, or a race."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import dsbd
from dsbd.api import Progress, planning
from dsbd.auto.plan import PlanProgress
from dsbd.contest.contenders import Contender
from dsbd.contest.race import race
from dsbd.contest.task import Question, Task
from dsbd.memory.reading import ReadProgress
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace

from .host.limits import Limits, check_decode, check_race
from .pairs.shelf import PAGE
from .traffic.visitors import StopSignal

Steps = Callable[..., Iterator[Any]]


class Job(NamedTuple):
    """What the engine runs."""

    call: str
    """As the log names it."""
    pair: str
    """Key of the pair that decodes."""
    settings: Sequence[DecodingSettings]
    """The settings of every decode; fields may be ``auto``."""
    check: Callable[[Pair], None]
    """Refuses what is beyond a limit of this page. Raises: SettingsError, PromptError."""
    times: int
    """How often each of the settings decodes."""
    seconds: int
    """The longest that it may take."""
    steps: Steps
    """Takes the pair and ``stop``, and yields the work step by step, as plain data. It may travel to another process,
    so it is a partial of a function of a module. Raises: DsbdError; StoppedError once the signal says so."""


class DecodeStep(NamedTuple):
    """What a decode says next: how far ``auto`` is, and then what each iteration brought."""

    before: ReadProgress | PlanProgress | None = None
    """How many segments of a long prompt are read, or how many forests ``auto`` has tried out; then all else is None.
    """
    begun: Trace | None = None
    """The beginning of the trace, without iterations; with the first progress only."""
    progress: Progress | None = None
    trace: Trace | None = None
    """The whole trace; with the last progress only."""


def recorded_decode(limits: Limits, prompt: str, settings: DecodingSettings, pair: str = PAGE) -> Job:
    """One decode, as :class:`DecodeStep`."""
    check = partial(_check, limits, [prompt], [settings])
    return Job(
        "decode", pair, [settings], check, 1, limits.decode_seconds, partial(_decoded, prompt=prompt, settings=settings)
    )


def race_of(
    limits: Limits,
    prompts: Sequence[str | Question],
    contenders: Sequence[Contender],
    rounds: int,
    pair: str = PAGE,
    task: Task | None = None,
) -> Job:
    """Contenders in turn; see :func:`dsbd.contest.race.race`."""
    each = [contender.settings for contender in contenders]

    def check(chosen: Pair) -> None:
        check_race(limits, each, len(prompts), rounds)
        _check(limits, [one if isinstance(one, str) else one.prompt for one in prompts], each, chosen)

    steps = partial(race, contenders=list(contenders), prompts=list(prompts), task=task, rounds=rounds)
    return Job("race", pair, each, check, len(prompts) * rounds + 2, limits.evaluate_seconds, steps)


def _check(limits: Limits, prompts: Sequence[str], each: Sequence[DecodingSettings], pair: Pair) -> None:
    for prompt in prompts:
        prompt_tokens = len(pair.encode(prompt))
        for settings in each:
            slots = _slots(pair, prompt_tokens, settings.max_new_tokens)
            check_decode(limits, settings, pair.target.vocabulary_size, slots)


def _slots(pair: Pair, prompt_tokens: int, new_tokens: int) -> int:
    """Cache slots of a prompt: behind a memory only its last segment takes any."""
    if pair.memory is None or not pair.reads(prompt_tokens, new_tokens):
        return prompt_tokens
    return pair.memory.window_of(prompt_tokens)


def _decoded(pair: Pair, prompt: str, settings: DecodingSettings, stop: StopSignal) -> Iterator[DecodeStep]:
    for before in planning(pair, prompt, settings, stop=stop):
        yield DecodeStep(before)
    is_first = True
    for update in dsbd.stream(pair, prompt, settings, record=True, stop=stop):
        begun = replace(update.trace, iterations=[]) if is_first and update.trace is not None else None
        whole = None if update.result is None else update.result.trace
        yield DecodeStep(None, begun, update.progress, whole)
        is_first = False
