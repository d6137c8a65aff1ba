"""Forged traces, in one field or in several that fit each other, are refused; what no check decides is listed."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
import pytest

import dsbd
from dsbd.errors import TraceError
from dsbd.tracing.distribution_audit import Checks
from dsbd.tracing.trace import Trace
from dsbd.verification.distributions import joint_distribution
from dsbd.verification.joint import verify_joint
from dsbd.verification.verify import _Verifier, verify
from tests.toy_pair import OTHER, read_settings, toy_pair, toy_traces
from tests.tracing.test_audit import resealed, trace_of


def more(number):
    return number * 1.01 + 1e-3


def less(number):
    return number * 0.99 - 1e-3


def twice(items):
    return [*items, items[-1]]


def turned(items):
    return items[::-1]


def first(data, kind: str, which: Callable[[dict, dict], bool] = lambda one, part: True) -> dict:
    """The first item of a list of an iteration that fits, and may look at its iteration."""
    return next(one for part in data["iterations"] for one in part[kind] if which(one, part))


def below_layers(one, part) -> bool:
    return one["layer"] > len(part["layers"])


def of_other_kind(data):
    draw, stats = first(data, "draws"), data["result"]["stats"]
    stats[draw["kind"]] -= 1
    draw["kind"] = "bonus" if draw["kind"] == "fresh" else "fresh"
    stats[draw["kind"]] += 1


def landed_bonus(data):
    first(data, "draws", lambda one, _: one["kind"] == "bonus")["landed"] = True
    data["result"]["stats"]["landed"] += 1


def drawn_in_no_layer(data):
    part = data["iterations"][0]
    part["draws"].insert(0, part["draws"][0] | {"layer": 0, "node": 0, "landed": False})
    data["result"]["stats"][part["draws"][0]["kind"]] += 1


def untried(data):
    """Leave out a draft that was not needed, of a node that was tried before."""
    part = data["iterations"][0]
    assert part["trials"].pop()["verdict"] == "unneeded"
    data["result"]["stats"]["unneeded"] -= 1


def heavier(data):
    beam = data["result"]["beams"][-1]
    beam["log_weight"] *= 1.01
    beam["score"] = beam["log_weight"] / len(beam["token_ids"])


def same_token(data):
    part = next(one for one in data["iterations"] if any(below_layers(node, one) for node in one["nodes"]))
    parents = Counter(node["parent"] for node in part["nodes"] if below_layers(node, part))
    one, other = [node for node in part["nodes"] if node["parent"] == parents.most_common(1)[0][0]][:2]
    one.update({name: other[name] for name in ("token_id", "text", "bytes", "ends")})


def ended_long_ago(data):
    data["stop"] = [data["result"]["text"][0]]
    data["result"]["text"] = ""


def is_early(one, part) -> bool:
    return one["cdf_low"] < 0.2 and one["cdf_high"] < 0.6


def later(draw, step=0.3):
    draw.update({name: draw[name] + step for name in ("cdf_low", "cdf_high", "uniform")})


def other_verdict(data):
    """Turn the verdict of a draft of a width that has all it needs."""
    trial = first(data, "trials", lambda one, _: one["acceptance"] is not None and 1e-3 < one["acceptance"] < 0.999)
    trial["uniform"] = (1 + trial["acceptance"]) / 2 if trial["verdict"] == "accepted" else 0.0


def reversed_ranking(data):
    result = data["result"]
    result["beams"].reverse()
    result.update(text=result["beams"][0]["text"], token_ids=result["beams"][0]["token_ids"])
    result["stats"]["new_tokens"] = len(result["token_ids"])


FORGED: dict[str, tuple[str, Any]] = {
    # check: trace, and what changes its fields, or the path of one, which no alteration below shows, and its new value
    "P below other beams": ("dsbd", ("iterations 0 nodes 3 target_prob", 0.001)),
    "P of a draw": ("speculative_beam_search", ("iterations 0 draws 0 target_prob", more)),
    "P of a drawn node": ("speculative_beam_search", ("iterations 0 nodes 6 target_prob", less)),
    "P of a likely candidate": ("dsbd", ("iterations 0 nodes 4 target_prob", more)),
    "P of the likeliest candidates": (
        "speculative_beam_search",
        ("iterations 0 layers 0 alternatives 1 target_prob", 0.001),
    ),
    "Q below the forest": ("dsbd 3", ("iterations 0 layers 2 alternatives 0 draft_prob", 0.001)),
    "Q of a draw": ("dsbd", ("iterations 0 draws 0 draft_prob", more)),
    "Q of a likely candidate": ("dsbd", ("iterations 0 layers 0 alternatives 0 draft_prob", more)),
    "S": ("dsbd 2", ("iterations 0 layers 0 chain_S 3", 0.001)),
    "a draft model": ("dsbd", ("models draft", None)),
    "a node that is not scored": ("mjsd", ("iterations 0 nodes 4 target_log_prob", 0)),
    "joint sums": ("dsbd", ("iterations 0 trials 0 joint", {"target": None, "draft": 0.0, "threshold": 0.5})),
    "least S": ("dsbd 2", ("iterations 0 layers 0 chain_S 3", -0.001)),
    "most of P's support": ("dsbd 3", ("settings top_k", 2)),
    "nodes tried": ("dsbd 2", ("iterations 0 trials 1 node", 1)),
    "numbers of a node": ("dsbd", ("iterations 0 nodes 5 draft_log_prob", -9.0)),
    "output beams": ("dsbd", ("settings input_beams", 1)),
    "parents of the likeliest candidates": ("dsbd", ("iterations 0 layers 0 alternatives 1 parent", 1)),
    "planned drafts": ("dsbd", ("settings draft_width", 4)),
    "ratio of two probabilities": ("dsbd", ("settings temperature", 1.000001)),
    "sum of P over the known candidates": ("mjsd", ("iterations 1 layers 0 alternatives 0 target_prob", 0.999)),
    "sum of the best beam under the draft model": ("mjsd", ("iterations 0 nodes 1 ends", True)),
    "tokens are in the vocabulary": ("joint", ("iterations 0 layers 0 alternatives 4 token_id", 41)),
    "tokens decoded": ("sampling", ("settings max_new_tokens", 6)),
    "tokens with two contents": ("speculative_beam_search", ("iterations 0 nodes 5 ends", True)),
    "tokens with two texts": ("dsbd", ("prompt pieces 2 token_id", 67)),
    "uniform in its interval": ("dsbd", ("iterations 1 draws 0 uniform", more)),
    "a node that is possible": (
        "toy",
        lambda data: first(
            data,
            "nodes",
            lambda one, part: (
                one["target_prob"]
                and one["kind"] != "drawn"
                and one["id"] not in {beam["node"] for layer in part["layers"] for beam in layer["beams"]}
            ),
        ).update(target_log_prob=None),
    ),
    "kind of a draw": ("dsbd", of_other_kind),
    "draw of a forest node": ("dsbd", landed_bonus),
    "layers of the record": ("dsbd", drawn_in_no_layer),
    "log-weight of a hypothesis": ("dsbd", heavier),
    "ranking": ("toy", reversed_ranking),
    "recorded candidates after it": ("toy", lambda data: later(first(data, "draws", is_early))),
    "recorded candidates before the interval": ("dsbd", lambda data: later(first(data, "draws"), -0.1)),
    "the answer has ended": ("sampling", ended_long_ago),
    "tokens below one node differ": ("narrow", same_token),
    "trials": ("dsbd", untried),
    "uniform": (
        "dsbd",
        lambda data: first(data, "trials", lambda one, _: one["verdict"] == "rejected").update(uniform=1.5),
    ),
    "verdict": ("toy", other_verdict),
}


@pytest.mark.parametrize("check", FORGED)
def test_a_forged_trace_is_refused_by_one_check_alone(check, monkeypatch):
    """Catches a check that was dropped: each trace passes without it."""
    (name, change), broken = FORGED[check], Checks.broken
    data = trace_of(name).to_dict()
    if callable(change):
        change(data)
    else:
        *path, last = [int(part) if part.isdecimal() else part for part in change[0].split()]
        above = reduce(getitem, path, data)
        above[last] = change[1](above[last]) if callable(change[1]) else change[1]
    trace = resealed(data)
    assert f": {check}" in dsbd.verify_trace(trace).failure
    monkeypatch.setattr(Checks, "broken", lambda self, name, *why: name == check or broken(self, name, *why))
    assert dsbd.verify_trace(trace).failure is None


def without_the_last(*args):
    layers = verify(*args)
    return layers[:-1] if len(layers) > 1 and layers[-2].outcome == "passed" else layers


def first_layer_only(forest, *args):
    shallow = copy(forest)
    shallow.layers = forest.layers[:1]
    return verify(shallow, *args)


def one_layer_of_a_block(*args):
    layers = verify_joint(*args)
    trials = [trial for layer in layers for trial in layer.trials]
    return [replace(layers[0], trials=trials, outcome="block")] if layers[-1].outcome == "block" else layers


def in_order(*order):
    """Joint distributions at temperature 0 whose best pairs come in another order."""

    def distribution(*args):
        right = joint_distribution(*args)
        ranks, probs = right.ranks.copy(), np.zeros(right.support)
        ranks[: len(order)] = right.ranks[list(order)]
        probs[ranks[0]] = 1.0
        return replace(right, ranks=ranks, probs=probs)

    return distribution


_draw = _Verifier._draw
FAULTY: dict[str, tuple[str, Any, dict[str, Any]]] = {
    # check: what of the decoder is wrong, what stands there, settings
    "verification goes on": ("dsbd.decoder.verify", without_the_last, {"draft_depth": 1, "draft_width": 6}),
    "kind of the layer": ("dsbd.decoder.verify", first_layer_only, {"draft_depth": 3, "draft_width": 8}),
    "score + noise of a recorded candidate": (
        "dsbd.verification.verify.best_draws",
        lambda values, count, replacement: values.argsort(axis=1)[:count, -2],
        {"min_width": 4, "max_width": 4},
    ),
    "draws": (
        "dsbd.verification.verify._Verifier._draw",
        lambda self, state, count, kind: _draw(self, state, count - (count > 2), kind),
        {"draft_depth": 1, "draft_width": 4},
    ),
    "layers of the joint test": ("dsbd.decoder.verify_joint", one_layer_of_a_block, {"method": "mjgd"}),
    "log-weights of the beams in order": (
        "dsbd.verification.verify.joint_distribution",
        in_order(0, 2, 1),
        {"method": "beam_search", "num_beams": 3},
    ),
    "log-weight of a node that was left": (
        "dsbd.verification.verify.joint_distribution",
        in_order(0, 2, 3, 1),
        {"method": "speculative_beam_search", "num_beams": 3, "draft_depth": 1},
    ),
}


@pytest.mark.parametrize("check", FAULTY)
def test_a_trace_of_a_faulty_decoder_is_refused(check, monkeypatch):
    """Catches an audit that trusts what verification did: every number of these traces fits the others."""
    what, wrong, values = FAULTY[check]
    monkeypatch.setattr(what, wrong)
    asked = read_settings(**{"max_new_tokens": 6, "draft_width": 6} | values)
    data = dsbd.decode(toy_pair(), "Once", asked, record=True).trace.to_dict()
    monkeypatch.undo()
    for layer in (layer for part in data["iterations"] for layer in part["layers"]):
        layer["accepted"] = min(layer["accepted"], len(layer["beams"]))
    assert f": {check}" in dsbd.verify_trace(resealed(data)).failure


WORDS = {
    "kind": ("drafted", "cover", "drawn", "draft", "bonus", "recovered", "fresh"),
    "verdict": ("accepted", "rejected", "orphaned", "unneeded", "carried"),
    "outcome": ("passed", "landed", "short", "bonus", "finished", "block"),
    "width_reason": ("threshold", "min_width", "max_width", "support", "bonus", "joint"),
    "method": dsbd.METHODS,
    "bytes": ("00", "c3"),
    "forest": ("sampled", "coupled"),
}


def alterations(name: str, value: Any) -> list[Any]:
    """Other values of a field."""
    known = [OTHER[name]] if name in OTHER else []
    match value:
        case str() | None if name in WORDS:
            return [one for one in WORDS[name] if one != value]
        case str():
            return [value + "x", value[:-1]]
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1, *known]
        case float():
            return [more(value), less(value), *known]
        case None:
            return [0, 1, 0.5, "x", [1], *known]
        case list():
            return [value[:-1], twice(value) if value else [1], turned(value)]
    return []


def fields(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any]]:
    """Every field of a trace: its name in the list of the audit, and where its value is."""
    for key, value in list(part.items() if isinstance(part, dict) else enumerate(part)):
        inner = path if isinstance(key, int) else (*path, key)
        yield listed_name(inner), part, key
        if isinstance(value, (dict, list)):
            yield from fields(value, inner)


def listed_name(path: tuple[str, ...]) -> str:
    """``models.id`` for both models, and one name for the software, the prompt, and all seconds."""
    if path[-1].endswith("seconds"):
        return "seconds"
    if path[0] in ("software", "prompt"):
        return path[0]
    return ".".join((path[0], *path[2:]) if path[0] == "models" else [one for one in path if one != "iterations"])


def survivors(trace: Trace, each: int) -> Counter[str]:
    """How often an alteration of a field passed, with a digest that fits; of each field ``each`` places are tried."""
    data, tried, passed = trace.to_dict(), Counter[str](), Counter[str]()
    del data["digest"]
    places = list(fields(data))
    random.Random(0).shuffle(places)
    for name, above, key in places:
        tried[name] += 1
        value = above[key]
        for other in alterations(name.rpartition(".")[2], value) if tried[name] <= each else []:
            above[key] = other
            with suppress(TraceError):  # the reader refuses it
                passed[name] += other != value and dsbd.verify_trace(Trace.from_dict(data)).failure is None
        above[key] = value
    return +passed


UNDECIDED = str(dsbd.verify_trace.__doc__).partition("No check decides:")[2].partition("Raises:")[0]
LISTED = set(re.findall(r"``([a-z_.]+)``", UNDECIDED))
SMALL = [
    read_settings("sampling", max_new_tokens=1),
    read_settings("specinfer", max_new_tokens=3, branching=(2, 2), seed=2),
]
"""Where the length of the text, and the second layer of a tree, change nothing."""


TRACES = {method: toy_traces(method) for method in dsbd.METHODS}


@pytest.mark.parametrize("method", TRACES)
def test_what_passes_is_listed(method):
    """Catches an audit that decides less than it says."""
    for trace in TRACES[method][:2]:
        assert survivors(trace, each=1).keys() <= LISTED


@pytest.mark.slow
def test_what_passes_is_what_is_listed():
    """Catches a list of the audit that names what it decides, too."""
    traces = [trace for own in TRACES.values() for trace in own]
    traces += [dsbd.decode(toy_pair(), "Once", asked, record=True).trace for asked in SMALL]
    traces += [trace_of(name) for name in ("toy", "coupled", "distinct-tree", "joint", "9-SQL-speculative-sampling")]
    passed = Counter[str]()
    for trace in traces:
        passed |= survivors(trace, each=3)
    assert passed.keys() == LISTED
