"""The page's only way to the models. One engine is shared by all visitors; the queue lets one in at a time, over all
pairs.

What runs on the models is a generator of plain data, because on ZeroGPU it is another process: errors come as values
and are raised here, and plans of ``auto`` come back and are remembered here.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import dsbd
from dsbd.api import planning
from dsbd.auto.measuring import known_plan, known_plans
from dsbd.auto.plan import Plan, PlanProgress, plan_key
from dsbd.errors import DsbdError
from dsbd.evaluation.evaluation import Evaluation, Step
from dsbd.evaluation.race import RaceProgress, race
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.comparison import Progress, compare
from dsbd.methods import has_auto
from dsbd.models.loading import loading
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace

from .asked.evaluation import Asked
from .host.allowed_models import AllowedModels
from .host.limits import Limits, check_compare, check_decode, check_evaluation
from .pairs.shelf import PAGE, Load, PairShelf, name_of
from .traffic.folders import Folders
from .traffic.visitors import StopSignal, Visitors
from .zerogpu import on_gpu

SECONDS_TO_START = 15
SECONDS_PER_TOKEN = 0.25
MEASURING_SECONDS = 40
"""What the measurements of ``auto`` may take before a method's plan is known."""

Event = PlanProgress | Trace | Iteration


class MadePlan(NamedTuple):
    """What ``auto`` resolved to for these settings."""

    settings: DecodingSettings
    plan: Plan


class Engine:
    """Runs decodes on the page's pair, or on another one that a call names by its key.

    Args:
        pair: the page's own, loaded, on its device.
        limits: what a visitor may ask for; None takes the defaults.
        load: loads further pairs, as the page's own was loaded.
        allowed: what visitors may load.
    """

    def __init__(
        self, pair: Pair, limits: Limits | None = None, load: Load = loading, allowed: AllowedModels | None = None
    ) -> None:
        self.pair = pair
        self.limits = limits or Limits()
        self.allowed = allowed or AllowedModels()
        self.pairs = PairShelf(pair, self.limits.max_loaded_pairs, load)
        self.visitors = Visitors()
        self.folders = Folders(self.limits)
        self._decode_lent = on_gpu(self._decode_seconds)(self._decode)
        self._compare_lent = on_gpu(self._compare_seconds)(self._compare)
        self._race_lent = on_gpu(self._race_seconds)(self._race)
        self._evaluate_lent = on_gpu(self._evaluate_seconds)(self._evaluate)

    @property
    def name(self) -> str:
        """The pair in words."""
        return f"{name_of(self.pair)}, {str(self.pair.target.dtype).removeprefix('torch.')}"

    def events(
        self, prompt: str, settings: DecodingSettings, stop: StopSignal, pair: str = PAGE
    ) -> Generator[Event, None, None]:
        """A recorded decode: measurements of ``auto``, the trace's beginning, each further iteration, the whole trace.

        Args:
            prompt: text.
            settings: fields may be ``auto``.
            stop: asked before each forward of a model.
            pair: key of the pair that decodes.

        Raises:
            PairError: the pair is not in memory.
            SettingsError: a limit of this page is passed.
            StoppedError: ``stop`` said so.
            DsbdError: the prompt does not fit, or the pair cannot run the method.
        """
        note = self.visitors.note(stop, "decode", [settings.method])
        self.require(prompt, [settings], pair)
        lent = self._decode_lent(prompt, self._planned(settings, pair), stop, pair)
        yield from note.watched(self._received(lent, pair), stop.deadline)

    def compare(
        self,
        prompt: str,
        settings: DecodingSettings,
        methods: Sequence[str],
        runs: int,
        stop: StopSignal,
        pair: str = PAGE,
    ) -> Iterator[Progress]:
        """Measure methods side by side; see :func:`dsbd.measure.comparison.compare`. Raises as :meth:`events` does."""
        note = self.visitors.note(stop, "compare", methods)
        each = [replace(settings, method=method) for method in methods]
        self.require(prompt, each, pair)
        check_compare(self.limits, each, runs)
        plans = [MadePlan(one, plan) for one in each if (plan := self._known(one, pair)) is not None]
        lent = self._compare_lent(prompt, settings, list(methods), runs, stop, pair, plans)
        yield from note.watched(self._received(lent, pair), stop.deadline)

    def race(
        self,
        prompts: Sequence[str],
        contenders: Sequence[Contender],
        rounds: int,
        stop: StopSignal,
        pair: str = PAGE,
    ) -> Iterator[RaceProgress]:
        """Let contenders race; see :func:`dsbd.evaluation.race.race`. Raises as :meth:`events` does."""
        note = self.visitors.note(stop, "race", [contender.name for contender in contenders])
        each = [contender.settings for contender in contenders]
        for prompt in prompts:
            self.require(prompt, each, pair)
        check_compare(self.limits, each * len(prompts), rounds)
        plans = [MadePlan(one, plan) for one in each if (plan := self._known(one, pair)) is not None]
        lent = self._race_lent(list(prompts), list(contenders), rounds, stop, pair, plans)
        yield from note.watched(self._received(lent, pair), stop.deadline)

    def evaluate(self, asked: Asked, folder: str, stop: StopSignal) -> Iterator[Step]:
        """Decode what a folder lacks of an evaluation; see :meth:`dsbd.evaluation.evaluation.Evaluation.steps`.

        Raises:
            PairError: the pair is not in memory.
            SettingsError, TaskError: a limit of this page is passed, or the questions cannot be read.
            StoppedError: ``stop`` said so.
            DsbdError: a prompt does not fit, or the pair cannot run a method.
        """
        note = self.visitors.note(stop, "evaluate", sorted({one.method for one in asked.contenders}))
        exam = asked.exam()
        (run,) = exam.runs
        each = [exam.at_limit(one, run).settings for one in exam.contenders]
        check_evaluation(self.limits, each, len(run.questions), exam.seeds)
        longest = max(run.questions, key=lambda question: len(question.prompt))
        self.require(longest.prompt, each, asked.pair)
        lent = self._evaluate_lent(asked, folder, stop)
        yield from note.watched(self._received(lent, asked.pair), stop.deadline)

    def require(self, prompt: str, each: Sequence[DecodingSettings], pair: str = PAGE) -> None:
        """Refuse what passes a limit of this page. Raises: SettingsError, PromptError, PairError."""
        chosen = self.pairs.get(pair)
        prompt_tokens = len(chosen.encode(prompt))
        for settings in each:
            check_decode(self.limits, settings, chosen.target.vocabulary_size, prompt_tokens)

    def known_plan(self, settings: DecodingSettings, pair: str = PAGE) -> Plan | None:
        """The plan of these settings, if it was made before and the pair is in memory."""
        return self._known(settings, pair) if self.pairs.is_loaded(pair) else None

    def _received(self, values: Iterator[Any], pair: str) -> Iterator[Any]:
        """What came over: plans are remembered, an error is raised at the end, the rest is passed on."""
        failed = None
        for value in values:
            if isinstance(value, DsbdError):
                failed = value
            elif isinstance(value, MadePlan):
                self._remember(value, pair)
            else:
                yield value
        if failed is not None:
            raise failed

    def _known(self, settings: DecodingSettings, pair: str) -> Plan | None:
        return known_plan(self.pairs.open(pair), settings) if has_auto(settings) else None

    def _remember(self, made: MadePlan, pair: str) -> None:
        known_plans(self.pairs.open(pair))[plan_key(made.settings)] = made.plan

    def _planned(self, settings: DecodingSettings, pair: str) -> DecodingSettings:
        """The settings with a known plan filled in: the process that decodes need not try again."""
        plan = self._known(settings, pair)
        return settings if plan is None else replace(settings, **plan.values)

    def _decode(self, prompt: str, settings: DecodingSettings, stop: StopSignal, pair: str) -> Iterator[Any]:
        try:
            chosen = self.pairs.open(pair)
            yield from planning(chosen, prompt, settings, stop=stop)
            if (plan := self._known(settings, pair)) is not None:
                yield MadePlan(settings, plan)
            yield from _recorded(chosen, prompt, settings, stop)
        except DsbdError as error:
            yield error

    def _compare(
        self,
        prompt: str,
        settings: DecodingSettings,
        methods: list[str],
        runs: int,
        stop: StopSignal,
        pair: str,
        plans: list[MadePlan],
    ) -> Iterator[Any]:
        try:
            chosen = self.pairs.open(pair)
            for made in plans:
                self._remember(made, pair)
            for method in methods:
                asked = replace(settings, method=method)
                for _ in planning(chosen, prompt, asked, stop=stop):
                    yield Progress(0, len(methods) * (runs + 1), method)
                if (plan := self._known(asked, pair)) is not None:
                    yield MadePlan(asked, plan)
            yield from compare(chosen, prompt, settings, methods, runs, stop)
        except DsbdError as error:
            yield error

    def _race(
        self,
        prompts: list[str],
        contenders: list[Contender],
        rounds: int,
        stop: StopSignal,
        pair: str,
        plans: list[MadePlan],
    ) -> Iterator[Any]:
        try:
            chosen = self.pairs.open(pair)
            for made in plans:
                self._remember(made, pair)
            yield from race(chosen, contenders, prompts, rounds, stop)
            for contender in contenders:
                if (plan := self._known(contender.settings, pair)) is not None:
                    yield MadePlan(contender.settings, plan)
        except DsbdError as error:
            yield error

    def _evaluate(self, asked: Asked, folder: str, stop: StopSignal) -> Iterator[Any]:
        try:
            yield from Evaluation(self.pairs.open(asked.pair), asked.exam(), folder).steps(stop)
        except DsbdError as error:
            yield error

    def _decode_seconds(self, prompt: str, settings: DecodingSettings, stop: StopSignal, pair: str) -> int:
        """Seconds of GPU to ask for."""
        return self._loan(pair, [settings], 1, self.limits.decode_seconds)

    def _compare_seconds(
        self,
        prompt: str,
        settings: DecodingSettings,
        methods: Sequence[str],
        runs: int,
        stop: StopSignal,
        pair: str,
        plans: list[MadePlan],
    ) -> int:
        """Seconds of GPU to ask for."""
        each = [replace(settings, method=method) for method in methods]
        return self._loan(pair, each, runs + 1, self.limits.compare_seconds)

    def _race_seconds(
        self,
        prompts: list[str],
        contenders: list[Contender],
        rounds: int,
        stop: StopSignal,
        pair: str,
        plans: list[MadePlan],
    ) -> int:
        """Seconds of GPU to ask for."""
        each = [contender.settings for contender in contenders]
        return self._loan(pair, each, len(prompts) * rounds + 2, self.limits.compare_seconds)

    def _evaluate_seconds(self, asked: Asked, folder: str, stop: StopSignal) -> int:
        """Seconds of GPU to ask for."""
        exam = asked.exam()
        (run,) = exam.runs
        each = [exam.at_limit(one, run).settings for one in exam.contenders]
        return self._loan(asked.pair, each, len(run.questions) * exam.seeds, self.limits.evaluate_seconds)

    def _loan(self, pair: str, each: Sequence[DecodingSettings], times: int, longest: int) -> int:
        measuring = sum(MEASURING_SECONDS for one in each if has_auto(one) and self._known(one, pair) is None)
        tokens = sum(one.max_new_tokens for one in each) * times
        return min(longest, SECONDS_TO_START + measuring + int(SECONDS_PER_TOKEN * tokens))


def _recorded(pair: Pair, prompt: str, settings: DecodingSettings, stop: StopSignal) -> Iterator[Trace | Iteration]:
    begun = False
    for update in dsbd.stream(pair, prompt, settings, record=True, stop=stop):
        if update.result is not None:
            assert update.result.trace is not None, "the decode is recorded"
            yield update.result.trace
        elif begun:
            assert update.iteration is not None, "the decode is recorded"
            yield update.iteration
        else:
            assert update.trace is not None, "the decode is recorded"
            yield update.trace
        begun = True
