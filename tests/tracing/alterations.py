"""Ways to alter a trace as a careful forger would: one thing is changed, and the digest is computed again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dsbd.errors import TraceError
from dsbd.settings import LATER_FIELDS, METHODS
from dsbd.tracing.trace import Trace, canonical_digest

Data = dict[str, Any]
STATS = (
    *("acceptance_rate", "layers_per_iteration", "mean_width", "landed", "new_tokens", "target_calls", "draft_calls"),
    *("layers", "iterations", "accepted", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus", "seconds"),
    *("draft_seconds", "score_seconds", "verify_seconds", "commit_seconds", "tokens_per_second", "kv_peak_slots"),
)


def resealed(data: Data) -> Trace:
    """The trace with a digest that fits."""
    trace = Trace.from_dict(data)
    return replace(trace, digest=canonical_digest(trace))


def alter(trace: Trace, what: str) -> Trace | None:
    """The altered trace; None where it has nothing of the kind or no longer loads."""
    data = trace.to_dict()
    try:
        return resealed(data) if ALTERATIONS[what](data) is not False else None
    except TraceError:
        return None


def _statistic(name: str) -> Callable[[Data], Any]:
    def change(data: Data) -> Any:
        stats = data["result"]["stats"]
        if stats[name] is None:
            return False
        stats[name] += 1 if isinstance(stats[name], int) else 1e-3
        return None

    return change


def _setting(name: str) -> Callable[[Data], Any]:
    def change(data: Data) -> Any:
        value = data["settings"].get(name, LATER_FIELDS.get(name))
        if name == "method":
            other: Any = next(method for method in METHODS if method != value)
        elif name == "forest":
            other = "likely" if value == "sampled" else "sampled"
        elif name == "verification":
            other = "block" if value == "token" else "token"
        elif isinstance(value, bool):
            other = not value
        elif isinstance(value, int):
            other = value + 1
        elif isinstance(value, float):
            other = value * 1.001 if value < 1 or name in ("temperature", "length_penalty") else value * 0.999
        elif name == "input_beams":
            other = 64
        elif name == "width_weights":
            other = [1.0] * 6 if value is None else [*value[:-1], value[-1] + 1.0]
        elif name == "branching":
            other = [2] if value is None else [*value[:-1], value[-1] + 1]
        else:
            other = [1.0] * (data["settings"]["draft_depth"] + 1)
        data["settings"][name] = other
        if name == "seed":
            data["seed"] = other
        return None

    return change


def _first(data: Data, kind: str, which: Callable[[Data], bool] = lambda item: True) -> Data:
    """The first node, trial, draw or layer of a kind; an empty one, which no trace holds, where there is none."""
    items = (item for iteration in data["iterations"] for item in iteration.get(kind, []) if which(item))
    return next(items, {})


def _field(kind: str, name: str, value: Callable[[Any], Any], which: Callable[[Data], bool] = lambda item: True) -> Any:
    def change(data: Data) -> Any:
        item = _first(data, kind, which)
        if not item:
            return False
        item[name] = value(item[name])
        return None

    return change


def _open(trial: Data) -> bool:
    """A trial that could have gone either way."""
    return trial["acceptance"] is not None and 1e-3 < trial["acceptance"] < 0.999


def _other_side(data: Data) -> Any:
    trial = _first(data, "trials", _open)
    if not trial:
        return False
    trial["uniform"] = trial["acceptance"] / 2 if trial["verdict"] == "rejected" else (1 + trial["acceptance"]) / 2
    return None


def _other_beginning(data: Data) -> Any:
    """The random number of a beginning decides otherwise."""
    one = _first(data, "beginnings", lambda one: one["uniform"] is not None and 1e-3 < one["acceptance"] < 0.999)
    if not one:
        return False
    accepted = one["uniform"] < one["acceptance"]
    one["uniform"] = (1 + one["acceptance"]) / 2 if accepted else one["acceptance"] / 2
    return None


def _shift_distribution(data: Data) -> Any:
    layer = _first(data, "layers", lambda layer: len(layer["accepted_distribution"]) > 1)
    if not layer:
        return False
    layer["accepted_distribution"][0] += 0.01
    layer["accepted_distribution"][1] -= 0.01
    return None


def _sums(name: str) -> Callable[[Data], Any]:
    """Change one number of the first joint test."""
    return _field("trials", "joint", lambda sums: sums | {name: sums[name] + 1e-3}, lambda trial: "joint" in trial)


def _joint_verdict(verdict: str, other: str) -> Callable[[Data], Any]:
    return _field("trials", "verdict", lambda _: other, lambda trial: "joint" in trial and trial["verdict"] == verdict)


def _scaled(value: float | None) -> float | None:
    return None if value is None else value * 1.001 - 1e-4


ALTERATIONS: dict[str, Callable[[Data], Any]] = {
    **{f"statistic {name}": _statistic(name) for name in STATS},
    "uniform beyond the acceptance": _other_side,
    "uniform outside its interval": _field("draws", "uniform", lambda _: 0.0, lambda draw: draw["cdf_low"] > 0),
    "uniform of a beginning": _other_beginning,
    "p of a beginning": _field("beginnings", "probability", lambda p: p * 0.999, lambda one: one["probability"] > 1e-2),
    "P of a beginning": _field("beginnings", "target_prob", lambda P: P * 0.999, lambda one: one["target_prob"] > 1e-2),
    "s of a beginning": _field("beginnings", "rest", lambda s: s * 1.001, lambda one: (one["rest"] or 0) > 1e-2),
    "chance of a beginning": _field(
        "beginnings", "acceptance", lambda chance: chance * 0.999, lambda one: one["acceptance"] > 1e-2
    ),
    "verdict": _field("trials", "verdict", lambda _: "accepted", lambda trial: trial["verdict"] == "rejected"),
    "kind of a draw": _field("draws", "kind", lambda kind: "fresh" if kind == "bonus" else "bonus"),
    "landed": _field("draws", "landed", lambda landed: not landed),
    "width": _field("layers", "width", lambda width: width + 1),
    "outcome": _field("layers", "outcome", lambda outcome: "short" if outcome != "short" else "passed"),
    "accepted distribution": _shift_distribution,
    "target_prob of a node": _field("nodes", "target_prob", _scaled, lambda node: (node["target_prob"] or 0) > 1e-2),
    "target_log_prob of a node": _field(
        "nodes", "target_log_prob", _scaled, lambda node: node["target_log_prob"] and (node["target_prob"] or 0) > 1e-2
    ),
    "draft_prob of a trial": _field("trials", "draft_prob", lambda prob: prob * 0.99),
    "log-weight of a beam": lambda data: data["iterations"][0]["output_beams"][0].update(log_weight=-0.5)
    if data["iterations"][0]["output_beams"] else False,
    "score of the result": lambda data: data["result"]["beams"][0].update(score=-1e-3),
    "tokens of the result": lambda data: data["result"]["token_ids"].append(1),
    **{f"joint sum, {name}": _sums(name) for name in ("target", "draft", "threshold")},
    "joint sums are gone": _field("trials", "joint", lambda _: None, lambda trial: "joint" in trial),
    "joint verdict, accepted": _joint_verdict("accepted", "carried"),
    "joint verdict, carried": _joint_verdict("carried", "accepted"),
    "joint verdict, rejected": _joint_verdict("rejected", "carried"),
    "joint acceptance": _field("trials", "acceptance", lambda one: one * 0.99, lambda trial: "joint" in trial),
    "likeliest pair": lambda data: data["iterations"][0]["layers"][0]["alternatives"][0].update(target_prob=1.01),
    "seed beside the settings": lambda data: data.update(seed=data["seed"] + 1),
    **{
        f"settings {name}": _setting(name)
        for name in (
            "method", "max_new_tokens", "draft_depth", "draft_width", "min_width", "max_width", "width_threshold",
            "replacement", "input_beams", "landing", "cover_width", "forest", "num_beams", "temperature", "top_k",
            "top_p", "length_penalty", "seed", "depth_costs", "continuation",
            "joint_threshold", "block", "lossless", "width_weights", "branching", "verification",
        )
    },
}  # fmt: skip
