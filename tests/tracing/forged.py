"""Forged traces, one for each check of the audit: only that check refuses it."""

from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import dsbd
from dsbd.tracing.trace import Trace
from dsbd.verification.distributions import joint_distribution
from dsbd.verification.joint import verify_joint
from dsbd.verification.verify import _Verifier, verify
from tests.toy_pair import read_settings, toy_pair, toy_traces
from tests.tracing.test_audit import resealed, trace_of


def more(number):
    return number * 1.01 + 1e-3


def less(number):
    return number * 0.99 - 1e-3


def twice(items):
    return [*items, items[-1]]


def turned(items):
    return items[::-1]


def place_of(data, path: str) -> tuple[Any, Any]:
    """The object that holds a value, and the value's name or place."""
    *above, last = [int(part) if part.isdecimal() else part for part in path.split()]
    for part in above:
        data = data[part]
    return data, last


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
    # check: trace, change: what changes the data, or the path of one value, and the new value or what makes it
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
    "Q of a joint trial": ("mjsd", ("iterations 0 nodes 3 draft_prob", more)),
    "Q of a likely candidate": ("dsbd", ("iterations 0 layers 0 alternatives 0 draft_prob", more)),
    "Q of a trial": ("dsbd", ("iterations 0 trials 0 draft_prob", more)),
    "S": ("dsbd 2", ("iterations 0 layers 0 chain_S 3", 0.001)),
    "least S": ("dsbd 2", ("iterations 0 layers 0 chain_S 3", -0.001)),
    "a draft model": ("dsbd", ("models draft", None)),
    "a node that is not scored": ("mjsd", ("iterations 0 nodes 4 target_log_prob", 0)),
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
    "acceptance": ("dsbd", ("iterations 0 trials 0 acceptance", more)),
    "acceptance of a beginning": ("mjsd", ("iterations 0 trials 0 acceptance", more)),
    "acceptance rate": ("dsbd", ("result stats acceptance_rate", more)),
    "accepted drafts": ("dsbd", ("iterations 0 layers 0 accepted", 2)),
    "alive beams": ("dsbd", ("iterations 0 layers 0 alive", twice)),
    "beams": ("dsbd 3", ("iterations 0 layers 2 beams", turned)),
    "c": ("dsbd", ("iterations 0 trials 3 c", 0.001)),
    "chain of the width": ("dsbd", ("iterations 0 layers 0 chain_c 0", -0.001)),
    "chosen width": ("dsbd", ("settings max_width", 4)),
    "count of the statistics": ("dsbd", ("result stats accepted", more)),
    "digest": ("dsbd", ("software python", "4")),
    "draft depth": ("dsbd", ("settings draft_depth", 3)),
    "draft's sum": ("mjsd", ("iterations 0 nodes 3 draft_log_prob", more)),
    "end": ("dsbd", ("result beams 0 finished", True)),
    "finished beams": ("dsbd", ("iterations 0 nodes 4 ends", True)),
    "hypotheses": ("dsbd", ("result beams", twice)),
    "ids of the nodes": ("dsbd", ("iterations 2 nodes", turned)),
    "index": ("dsbd", ("iterations 0 index", 1)),
    "input beams": ("dsbd", ("iterations 0 input_beams 0 multiplicity", 2)),
    "interval": ("dsbd", ("iterations 0 draws 0 cdf_low", more)),
    "joint sums": ("dsbd", ("iterations 0 trials 0 joint", {"target": None, "draft": 0.0, "threshold": 0.5})),
    "kind of a draw": ("dsbd", of_other_kind),
    "landing": ("dsbd", landed_bonus),
    "layers of the record": ("dsbd", drawn_in_no_layer),
    "log-weight": ("dsbd", ("iterations 0 nodes 4 target_log_prob", more)),
    "log-weight of a hypothesis": ("dsbd", heavier),
    "most of P's support": ("dsbd 3", ("settings top_k", 2)),
    "multiplicity": ("dsbd", ("result beams 0 multiplicity", 2)),
    "node of a likely candidate": ("dsbd", ("iterations 0 layers 0 alternatives 0 node", 4)),
    "noise": ("coupled", ("iterations 0 draws 0 noise", more)),
    "nodes tried": ("dsbd 2", ("iterations 0 trials 1 node", 1)),
    "number of cover nodes": ("mjsd", ("iterations 0 nodes 1 kind", "cover")),
    "number of drafts": ("mjsd", ("settings draft_width", 2)),
    "number of likeliest candidates": ("dsbd", ("iterations 0 layers 0 alternatives", lambda pairs: pairs[:-1])),
    "numbers of a draw": ("coupled", ("iterations 0 draws 0 c", 0.0)),
    "numbers of a joint trial": ("mjsd", ("iterations 0 trials 0 residual_prob", 0)),
    "numbers of a node": ("dsbd", ("iterations 0 nodes 5 draft_log_prob", -9.0)),
    "numbers of a trial": ("dsbd", ("iterations 0 trials 1 residual_prob", 0)),
    "order of a draw": ("dsbd", ("iterations 0 draws 0 order", 1)),
    "order of a trial": ("dsbd", ("iterations 0 trials 0 order", 1)),
    "order of the likeliest candidates": ("dsbd", ("iterations 0 layers 0 alternatives", turned)),
    "order of the record": (
        "toy",
        lambda data: [one["trials"].sort(key=lambda trial: -trial["layer"]) for one in data["iterations"]],
    ),
    "outcome": ("dsbd", ("iterations 0 layers 0 outcome", "landed")),
    "output beams": ("dsbd", ("settings input_beams", 1)),
    "parents in the forest": ("dsbd", ("iterations 0 nodes 2 ends", True)),
    "parents of the likeliest candidates": ("dsbd", ("iterations 0 layers 0 alternatives 1 parent", 1)),
    "planned drafts": ("dsbd", ("settings draft_width", 4)),
    "ranking": ("toy", reversed_ranking),
    "ratio of two probabilities": ("dsbd", ("settings temperature", 1.000001)),
    "reason of the width": ("dsbd", ("iterations 0 layers 0 width_reason", "min_width")),
    "recorded candidates after it": ("toy", lambda data: later(first(data, "draws", is_early))),
    "recorded candidates before the interval": ("dsbd", lambda data: later(first(data, "draws"), -0.1)),
    "residual": ("dsbd", ("iterations 0 trials 0 residual_prob", more)),
    "returned text": ("dsbd", ("result text", lambda text: text + "x")),
    "returned tokens": ("dsbd", ("result token_ids", turned)),
    "score": ("dsbd", ("settings length_penalty", 1.001)),
    "seed": ("dsbd", ("settings seed", 1)),
    "setting of the method": ("dsbd", ("settings method", "beam_sampling")),
    "sum of P over the known candidates": ("mjsd", ("iterations 1 layers 0 alternatives 0 target_prob", 0.999)),
    "sum of the best beam under the draft model": ("mjsd", ("iterations 0 nodes 1 ends", True)),
    "target's sum": ("mjsd", ("iterations 0 trials 0 joint target", less)),
    "text of the tokens": ("dsbd", ("result beams 1 text", lambda text: text + "x")),
    "the answer has ended": ("sampling", ended_long_ago),
    "threshold": ("mjsd", ("settings joint_threshold", more)),
    "tokens": ("dsbd", ("iterations 0 nodes 0 token_id", lambda token: token + 1)),
    "tokens are in the vocabulary": ("joint", ("iterations 0 layers 0 alternatives 4 token_id", 41)),
    "tokens below one node differ": ("narrow", same_token),
    "tokens decoded": ("sampling", ("settings max_new_tokens", 6)),
    "tokens with two contents": ("speculative_beam_search", ("iterations 0 nodes 5 ends", True)),
    "tokens with two texts": ("dsbd", ("prompt pieces 2 token_id", 67)),
    "trials": ("dsbd", untried),
    "uniform": (
        "dsbd",
        lambda data: first(data, "trials", lambda one, _: one["verdict"] == "rejected").update(uniform=1.5),
    ),
    "uniform in its interval": ("dsbd", ("iterations 1 draws 0 uniform", more)),
    "verdict": ("toy", other_verdict),
    "verdict of a beginning": ("mjsd", ("iterations 0 trials 0 verdict", "carried")),
    "vocabulary of the draft model": ("dsbd", ("models draft vocabulary_size", 261)),
}


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


def forged(check: str) -> Trace:
    """A trace that a check alone refuses."""
    if check in FAULTY:
        what, wrong, values = FAULTY[check]
        with patch(what, wrong):
            asked = read_settings(**{"max_new_tokens": 6, "draft_width": 6} | values)
            data = dsbd.decode(toy_pair(), "Once", asked, record=True).trace.to_dict()
        for layer in (layer for part in data["iterations"] for layer in part["layers"]):
            layer["accepted"] = min(layer["accepted"], len(layer["beams"]))
        return resealed(data)
    name, change = FORGED[check]
    data = given(name).to_dict()
    if callable(change):
        change(data)
    else:
        above, last = place_of(data, change[0])
        above[last] = change[1](above[last]) if callable(change[1]) else change[1]
    return Trace.from_dict(data) if check == "digest" else resealed(data)


def given(name: str) -> Trace:
    method, _, number = name.partition(" ")
    return toy_traces(method)[int(number)] if number.isdecimal() else trace_of(name)
