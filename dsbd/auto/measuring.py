"""Decodes to measure forests for ``auto``, and keeps the plans for each pair, in memory and on disk."""

from collections.abc import Generator
from typing import Any
from weakref import WeakKeyDictionary

from dsbd.auto.kept import load_plan, save_plan
from dsbd.auto.plan import MEASURED_TOKENS, MeasuredRun, Plan, PlanKey, PlanProgress, make_plan, plan_key
from dsbd.conditions import conditions
from dsbd.decoder import iterations
from dsbd.law.verified import draft_layers_passed
from dsbd.methods import resolve
from dsbd.models.pair import Pair
from dsbd.observer import IterationEnd, Observer, RunStart
from dsbd.session import Tally
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.stopping import Check, never_stop

_notebook: WeakKeyDictionary[Pair, dict[PlanKey, Plan]] = WeakKeyDictionary()
_conditions: WeakKeyDictionary[Pair, dict[str, Any]] = WeakKeyDictionary()


def known_plans(pair: Pair) -> dict[PlanKey, Plan]:
    """Return the plans that this process has of this pair so far; they are forgotten with the pair."""
    return _notebook.setdefault(pair, {})


def known_plan(pair: Pair, asked: DecodingSettings) -> Plan | None:
    """Return the plan for settings with a field ``auto``, from this process or from disk; None if there is none."""
    known, key = known_plans(pair), plan_key(asked)
    if key not in known and (here := _conditions_of(pair)) is not None:
        found = load_plan(here, asked)
        if found is not None:
            known[key] = found
    return known.get(key)


def _conditions_of(pair: Pair) -> dict[str, Any] | None:
    """Return what measurements with this pair depend on, computed once: digests of large models take a while.

    None if the device cannot be read in this process, such as the GPU of Hugging Face ZeroGPU.
    """
    if pair not in _conditions:
        try:
            _conditions[pair] = conditions(pair)
        except RuntimeError:
            return None
    return _conditions[pair]


def measure_forests(
    pair: Pair, prompt_ids: list[int], asked: DecodingSettings, check: Check = never_stop
) -> Generator[PlanProgress, None, Plan]:
    """Make the plan for settings with a field ``auto``, or return the known one; closing the generator cancels.

    Args:
        pair: with a draft model.
        prompt_ids: ids of the prompt, with room for at least one new token.
        asked: settings of a drafting method.
        check: called before each forward of a model; what it raises ends the measuring.
    """
    known, room = known_plan(pair, asked), pair.room_after(len(prompt_ids))
    if known is not None:
        return known
    made = yield from make_plan(asked, lambda chosen: _try_out(pair, prompt_ids, resolve(chosen), check), room)
    if room >= MEASURED_TOKENS:  # shorter measurements say too little to be remembered
        known_plans(pair)[plan_key(asked)] = made
        if (here := _conditions_of(pair)) is not None:
            save_plan(here, asked, made)
    return made


def _try_out(pair: Pair, prompt_ids: list[int], settings: ResolvedSettings, check: Check) -> MeasuredRun:
    """Decode and return the counts."""
    watch = _Watch()
    for _ in iterations(RunStart(pair, "", prompt_ids, settings), [watch], check):
        pass
    return watch.measured_run()


class _Watch(Observer):
    """Counts the seconds of the iterations, and the draft layers that let verification go on."""

    def __init__(self) -> None:
        self._seconds: list[tuple[int, float]] = []
        self._passed = self._stopped = 0
        self._tally = Tally()

    def on_iteration(self, iteration: IterationEnd) -> None:
        self._seconds.append((len(iteration.scored.forest.layers), sum(iteration.seconds.values())))
        passed, stopped = draft_layers_passed(iteration.layers)
        self._tally.add(iteration.layers)
        self._passed += passed
        self._stopped += stopped

    def measured_run(self) -> MeasuredRun:
        """Return what was counted."""
        return MeasuredRun(self._seconds, self._tally.layers, self._passed, self._stopped, self._tally.beams)
