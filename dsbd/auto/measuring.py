"""Makes the measuring decodes of ``auto``, and remembers the plans made from them for each pair."""

from collections.abc import Generator
from weakref import WeakKeyDictionary

from dsbd.auto.plan import MEASURED_TOKENS, MeasuredRun, Plan, PlanKey, PlanProgress, make_plan, plan_key
from dsbd.decoder import iterations
from dsbd.law.beams import Node
from dsbd.methods import resolve
from dsbd.models.pair import Pair
from dsbd.observer import IterationEnd, Observer, RunStart
from dsbd.session import draft_layers_passed
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.stopping import Check, never_stop

_notebook: WeakKeyDictionary[Pair, dict[PlanKey, Plan]] = WeakKeyDictionary()


def known_plans(pair: Pair) -> dict[PlanKey, Plan]:
    """Return the plans made for this pair so far; they are forgotten with the pair."""
    return _notebook.setdefault(pair, {})


def measure_forests(
    pair: Pair, prompt_ids: list[int], asked: DecodingSettings, check: Check = never_stop
) -> Generator[PlanProgress, None, Plan]:
    """Make the plan for settings with a field ``auto``, or take the known one; closing the generator cancels.

    Args:
        pair: with a draft model.
        prompt_ids: ids of the prompt, with room for at least one new token.
        asked: settings of a drafting method.
        check: called before each forward of a model; what it raises ends the measuring.
    """
    known, key, room = known_plans(pair), plan_key(asked), pair.room_after(len(prompt_ids))
    if key in known:
        return known[key]
    made = yield from make_plan(asked, lambda chosen: _try_out(pair, prompt_ids, resolve(chosen), check), room)
    if room >= MEASURED_TOKENS:  # shorter measurements say too little to be remembered
        known[key] = made
    return made


def _try_out(pair: Pair, prompt_ids: list[int], settings: ResolvedSettings, check: Check) -> MeasuredRun:
    """Decode and return the counts."""
    tally = Tally()
    for _ in iterations(RunStart(pair, "", prompt_ids, settings, Node(None, -1, 0)), [tally], check):
        pass
    return tally.measured_run()


class Tally(Observer):
    """Counts the seconds of the iterations, and the draft layers that let verification go on."""

    def __init__(self) -> None:
        self._seconds: list[tuple[int, float]] = []
        self._layers = self._passed = self._stopped = self._beams = 0

    def on_iteration(self, iteration: IterationEnd) -> None:
        self._seconds.append((len(iteration.scored.forest.layers), sum(iteration.seconds.values())))
        passed, stopped = draft_layers_passed(iteration.layers)
        self._layers += len(iteration.layers)
        self._passed += passed
        self._stopped += stopped
        self._beams += sum(beam.multiplicity for layer in iteration.layers for beam in layer.beams)

    def measured_run(self) -> MeasuredRun:
        """Return what was counted."""
        return MeasuredRun(self._seconds, self._layers, self._passed, self._stopped, self._beams)
