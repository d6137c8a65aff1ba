"""Named alterations of a trace, each with a digest that fits: what the browser's audit is tried with."""

from dataclasses import fields

from dsbd.errors import TraceError
from dsbd.results import Stats
from dsbd.settings import ResolvedSettings
from dsbd.tracing.trace import Trace
from tests.tracing.forger import Forger, resealed

RECORDS = {
    "nodes": "parent kind target_log_prob target_prob draft_prob",
    "layers": "width width_reason width_uniform accepted accepted_distribution chain_S outcome forest_mass",
    "trials": "order verdict draft_prob residual_prob c S acceptance",
    "draws": "kind landed target_prob cdf_low uniform",
    "beginnings": "target_prob probability rest acceptance uniform",
    "output_beams": "multiplicity log_weight",
}
BEYOND = "uniform beyond the acceptance"
ALTERATIONS = {
    **{f"{kind} {name}": f"iterations.{kind}.{name}" for kind, names in RECORDS.items() for name in names.split()},
    **{f"joint {name}": f"iterations.trials.joint.{name}" for name in ("target", "draft", "threshold")},
    **{f"joint {name}": f"iterations.trials.{name}" for name in ("verdict", "acceptance")},
    **{f"statistic {field.name}": f"result.stats.{field.name}" for field in fields(Stats)},
    **{f"settings {field.name}": f"settings.{field.name}" for field in fields(ResolvedSettings)},
    **{name: name for name in ("seed", "result.token_ids", "result.beams.score", BEYOND)},
}
"""The name of an alteration, and the field that it alters."""


def alter(trace: Trace, what: str) -> Trace | None:
    """The altered trace; None where it has no such field or no longer loads."""
    forger = Forger(trace)
    if what == BEYOND:
        return _beyond(trace)
    for kind in forger.leaves:
        if ".".join(str(step) for step in kind if step != "*") == ALTERATIONS[what]:
            altered = forger.alter_kind(kind, frozenset())
            try:
                return resealed(altered.data) if altered else None
            except TraceError:
                return None
    return None


def _beyond(trace: Trace) -> Trace | None:
    """A trial that could have gone either way has a random number that decides otherwise."""
    data = trace.to_dict()
    for trial in (trial for iteration in data["iterations"] for trial in iteration["trials"]):
        chance = trial["acceptance"]
        if chance is not None and 1e-3 < chance < 0.999:
            trial["uniform"] = chance / 2 if trial["verdict"] == "rejected" else (1 + chance) / 2
            return resealed(data)
    return None
