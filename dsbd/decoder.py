"""The decoder: draft, score, verify, commit, yield.

*Source:* the paper's Algorithm 1; docs/algorithm.md, *One iteration*.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import torch

from dsbd.auto.plan import TRIAL_TOKENS, Outcome, Plan, PlanProgress, key_of, make_plan
from dsbd.auto.trials import Tally
from dsbd.clock import PhaseClock
from dsbd.errors import PairError
from dsbd.law.beams import Node
from dsbd.law.verify import Uniforms, verify
from dsbd.methods import DRAFTING_METHODS, resolve
from dsbd.models.pair import Pair
from dsbd.observer import Observer, ObserverSet, RunStart
from dsbd.results import DecodingResult
from dsbd.score import score
from dsbd.session import Session, Update
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.tracing.recorder import Recorder

Value = TypeVar("Value")


def decode(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings | None = None,
    record: bool = False,
    observers: Sequence[Observer] = (),
    chat: bool = False,
) -> DecodingResult:
    """Decode a prompt to the end; see :func:`stream`."""
    result = None
    for update in stream(pair, prompt, settings, record=record, observers=observers, chat=chat):
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
) -> Iterator[Update]:
    """Decode a prompt, one :class:`Update` per iteration; the last carries the result. Closing it cancels.

    Args:
        pair: from :func:`dsbd.load_pair`.
        prompt: text; empty becomes BOS.
        settings: None is ``DecodingSettings()``. Fields that are ``auto`` are resolved before the first update, by
            trials of some seconds unless the pair remembers them; :func:`planning` does it in steps.
        record: keep a trace, in ``update.iteration`` and ``result.trace``.
        observers: told of the start, of each iteration and of the result, outside the timed phases.
        chat: apply the model's chat template to the prompt.

    Raises:
        PromptError: the prompt does not fit the models.
        PairError: the method drafts and the pair has no draft model.
    """
    asked = settings or DecodingSettings()
    prompt_ids = _checked_ids(pair, prompt, asked, chat)
    start = RunStart(pair, prompt, prompt_ids, _resolve(pair, prompt_ids, asked), Node(None, -1, 0))
    return _iterations(start, record, observers)


def planning(
    pair: Pair, prompt: str, settings: DecodingSettings, chat: bool = False
) -> Generator[PlanProgress, None, Plan | None]:
    """Resolve the ``auto`` fields of ``settings`` before :func:`stream` does, step by step; closing it cancels.

    Returns:
        The plan, which the pair remembers; None where there is nothing to plan. Raises as :func:`stream` does.
    """
    prompt_ids = _checked_ids(pair, prompt, settings, chat)
    if settings.method not in DRAFTING_METHODS or not settings.is_auto:
        return None
    return (yield from _planning(pair, prompt_ids, settings))


def plan(pair: Pair, prompt: str, settings: DecodingSettings) -> Plan:
    """What ``auto`` fields of ``settings``, of a drafting method, resolve to on this pair."""
    found = _end_of(planning(pair, prompt, settings))
    assert found is not None, "no field is auto"
    return found


def _checked_ids(pair: Pair, prompt: str, settings: DecodingSettings, chat: bool) -> list[int]:
    if settings.method in DRAFTING_METHODS and settings.draft_depth != 0 and pair.draft is None:
        raise PairError(
            f"method {settings.method} needs a draft model; load one, or use a method other than "
            f"{', '.join(sorted(DRAFTING_METHODS))}"
        )
    prompt_ids = pair.encode(prompt, chat=chat)
    pair.require_room(len(prompt_ids), settings.max_new_tokens)
    return prompt_ids


def _resolve(pair: Pair, prompt_ids: list[int], asked: DecodingSettings) -> ResolvedSettings:
    if asked.method in DRAFTING_METHODS and asked.is_auto:
        asked = replace(asked, **_end_of(_planning(pair, prompt_ids, asked)).values)
    return resolve(asked)


def _planning(pair: Pair, prompt_ids: list[int], asked: DecodingSettings) -> Generator[PlanProgress, None, Plan]:
    key, room = key_of(asked), pair.room_after(len(prompt_ids))
    if key in pair.plans:
        known: Plan = pair.plans[key]
        return known
    made = yield from make_plan(asked, lambda chosen: _try_out(pair, prompt_ids, resolve(chosen)), room)
    if room >= TRIAL_TOKENS:  # shorter trials tell too little to be remembered
        pair.plans[key] = made
    return made


def _end_of(steps: Generator[object, None, Value]) -> Value:
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value


def _try_out(pair: Pair, prompt_ids: list[int], settings: ResolvedSettings) -> Outcome:
    """A decode that only counts."""
    tally = Tally()
    for _ in _iterations(RunStart(pair, "", prompt_ids, settings, Node(None, -1, 0)), False, [tally]):
        pass
    return tally.outcome()


def _iterations(start: RunStart, record: bool, observers: Sequence[Observer]) -> Iterator[Update]:
    pair, settings = start.pair, start.settings
    recorder = Recorder() if record else None
    watching = ObserverSet([*observers, recorder] if recorder else observers)
    watching.on_start(start)
    generator = torch.Generator(pair.device).manual_seed(settings.seed)
    clock = PhaseClock(pair.device, exact=bool(watching))
    session = Session(start, clock, generator)
    with clock.phase("prefill"):
        session.prefill()
    while not session.done:
        clock.start_iteration()
        depth = min(session.depth.choose(), session.room - 1)
        with clock.phase("draft"):
            drafted = session.drafter.draft(session.beams, depth) if session.drafter and depth else []
        with clock.phase("score"):
            scored = score(session.target_row, session.beams, drafted, settings, generator)
        with clock.phase("verify"):
            layers = verify(scored.forest, scored.next_tokens, settings, pair.eos, Uniforms(scored.uniforms))
        with clock.phase("commit"):
            iteration = session.commit(scored, layers)
        watching.on_iteration(iteration)
        if session.done:
            break
        yield session.update(recorder)
    result = session.result()
    watching.on_finish(result)
    yield session.update(recorder, result)
