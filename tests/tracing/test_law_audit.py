"""The laws of an iteration held against each other: what was cut off is no likelier than what was kept."""

import math

import pytest

import dsbd
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair
from tests.tracing.forger import resealed


def cut_nodes(trace: Trace):
    """Each layer's unlikely nodes: (its iteration, its place among the nodes, the log-weights of those it lost to)."""
    weights = {0: 0.0}
    for number, iteration in enumerate(trace.iterations):
        for node in iteration.nodes:
            weights[node.id] = weights[node.parent] + (node.target_log_prob or 0.0)
        for place, node in enumerate(iteration.nodes):
            kept = [weights[other.id] for other in iteration.nodes if other.layer == node.layer and other.target_prob]
            alive = node.layer <= len(iteration.layers) and node.parent in iteration.layers[node.layer - 1].alive
            is_listed = any(pair.node == node.id for layer in iteration.layers for pair in layer.alternatives)
            if alive and node.kind == "cover" and kept and not is_listed:
                yield number, place, weights[node.parent], kept


def test_what_top_k_cut_off_is_no_likelier_than_anything_it_kept():
    """Catches an audit that compares with the likeliest pair only: a raw probability between the two would pass."""
    tried = 0
    for seed in range(8):
        trace = record(seed, top_k=8, cover_width=12)
        assert dsbd.verify_trace(trace).failure is None
        for number, place, parent, kept in cut_nodes(trace):
            data = trace.to_dict()
            node = data["iterations"][number]["nodes"][place]
            between = (min(kept) + max(kept)) / 2 - parent
            family = [other for other in data["iterations"][number]["nodes"] if other["parent"] == node["parent"]]
            mass = math.fsum(math.exp(other["target_log_prob"]) for other in family if other is not node)
            if node["target_prob"] != 0 or max(kept) - min(kept) < 0.1 or mass + math.exp(between) > 0.99:
                continue
            node["target_log_prob"] = between
            tried += 1
            assert "score of a pair without P" in dsbd.verify_trace(resealed(data)).failure
    assert tried > 3


def test_without_top_k_nothing_possible_is_cut_off():
    """Catches an audit that takes any pair for one that was cut off."""
    trace = record(1, top_k=0, cover_width=12)
    cut = [found for found in cut_nodes(trace) if trace.iterations[found[0]].nodes[found[1]].target_prob]
    number, place, _, _ = cut[-1]
    data = trace.to_dict()
    data["iterations"][number]["nodes"][place]["target_prob"] = 0.0
    assert "score of a pair without P" in dsbd.verify_trace(resealed(data)).failure


@pytest.mark.parametrize(("top_k", "shift"), [(0, 0.1), (50, -3.0)])
def test_log_weights_have_the_scale_of_their_probabilities(top_k, shift):
    """Catches log-probabilities that are all moved by one number, so that their ratios stay."""
    data = record(2, method="sampling", top_k=top_k).to_dict()
    for depth, iteration in enumerate(data["iterations"], 1):
        for node in iteration["nodes"]:
            node["target_log_prob"] -= shift
        named = [*iteration["output_beams"], *(beam for layer in iteration["layers"] for beam in layer["beams"])]
        for beam in named:
            beam["log_weight"] -= shift * depth
        if depth > 1:
            iteration["input_beams"][0]["log_weight"] -= shift * (depth - 1)
    for beam in data["result"]["beams"]:
        beam["log_weight"] -= shift * len(beam["token_ids"])
        beam["score"] = beam["log_weight"] / len(beam["token_ids"])
    failure = dsbd.verify_trace(resealed(data)).failure
    assert failure is not None
    assert "log P of node" in failure or "target_log_prob of node" in failure


def record(seed: int, **settings) -> Trace:
    asked = dsbd.DecodingSettings(**{"max_new_tokens": 4, "draft_depth": 2, "draft_width": 3, "seed": seed} | settings)
    trace = dsbd.decode(toy_pair(), "Once", asked, record=True).trace
    assert trace is not None
    return trace
