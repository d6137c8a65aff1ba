"""Single runs of verification and of the joint test on the toy, with given uniforms. The distribution itself is
enumerated.
"""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from dsbd.settings import ResolvedSettings
from dsbd.verification import toy
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import TopTokens
from dsbd.verification.forest import BranchedLayer, DraftDistribution, Forest, ForestLayer
from dsbd.verification.joint import verify_joint
from dsbd.verification.verified import Uniforms, VerifiedLayer
from dsbd.verification.verify import verify
from tests.verification.enumeration import path_of
from tests.verification.oracle import Tables


def run(uniforms: list[float], forest: Forest, kind: str = "sampled", **changes) -> list[VerifiedLayer]:
    chosen = toy.settings(forest=kind, **changes)
    return verify(forest, toy.next_tokens, chosen, toy.EOS, Uniforms(uniforms))


@pytest.mark.parametrize(
    ("fresh", "extras", "landing", "outcome"),
    [
        (0.55, [], True, "landed"),  # "ab": a rejected draft is a node
        (0.55, [], False, "short"),
        (0.90, [], True, "short"),  # "ba" is no node
        (0.90, [toy.BA], True, "landed"),
        (0.70, [], True, "landed"),  # "a." ends: nothing below it has to be known
    ],
)
def test_going_on_needs_every_draw_to_land_or_end(fresh: float, extras: list, landing: bool, outcome: str) -> None:
    """Catches landing on accepted nodes only, extra candidates that do not count, and ends that stop verification."""
    layers = run([0.7, 0.2, fresh, 0.0, 0.0], toy.forest(extras), landing=landing)
    assert layers[0].outcome == outcome
    assert [layer.outcome for layer in layers[1:]] == (["bonus"] if outcome == "landed" else [])


def test_without_replacement_a_layer_may_be_wider_than_q_has_candidates() -> None:
    """Catches a width that ends with the candidates of Q: the beams that are missing are drawn from P."""
    distribution = DraftDistribution(
        [toy.A, toy.B], np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.5, 0.2, 0.3])
    )
    forest = Forest(toy.BEAMS, [ForestLayer([toy.AA, toy.AB, toy.BA], [0.5, 0.2, 0.3], [], distribution)])
    layer = run([0.0] * 9, forest, replacement=False, draft_width=3, min_width=4, max_width=4)[0]
    assert sorted(toy.text(beam.node) for beam in layer.beams) == ["a.", "aa", "ab", "ba"]
    narrow = run([0.0] * 9, forest, replacement=False, draft_width=3, top_k=1)[0]
    assert len(narrow.width.numbers.acceptance_chain) == 3  # each draft counts, though P has one candidate


def test_a_tree_goes_on_below_the_node_that_was_accepted() -> None:
    """Catches children of another node, or of none: the rest of the tree would never be tried."""

    def family(parent: Node, *children: Node) -> ForestLayer:
        distribution = DraftDistribution([parent], np.zeros(3, dtype=int), np.arange(3), np.full(3, 1 / 3))
        return ForestLayer(list(children), [1 / 3] * len(children), [], distribution)

    first = {toy.A: family(toy.A, toy.AB, toy.AA)}
    second = {node: family(node, node.child(1)) for node in (toy.AB, toy.AA)}
    forest = Forest([Beam(toy.A, 0.0)], [BranchedLayer(first), BranchedLayer(second)])
    layers = run([0.9, 0.0, 0.0, 0.0, 0.0], forest, min_width=1, max_width=1)
    assert [[toy.text(trial.node) for trial in layer.trials] for layer in layers] == [["ab", "aa"], ["aab"], []]
    assert [layer.outcome for layer in layers] == ["passed", "passed", "bonus"]


@pytest.mark.parametrize(
    ("nodes", "width", "outcomes"),
    [
        ([toy.AA, toy.BA, toy.AB], 2, ["landed", "bonus"]),
        ([toy.AA, toy.BA], 2, ["landed", "bonus"]),
        ([toy.AA, toy.AB], 2, ["short"]),  # "ba" is no node
        ([toy.A.child(2)], 4, ["short"]),
        ([], 2, ["bonus"]),  # nothing was guessed below an alive beam
    ],
)
def test_a_greedy_coupled_forest_takes_the_best_and_goes_on_where_all_are_nodes(nodes, width, outcomes) -> None:
    """Catches a width that looks at the nodes, and a draw that has numbers of an acceptance test."""
    forest = Forest(toy.BEAMS, [ForestLayer([], [], nodes, toy.draft_distribution())])
    changes = {"temperature": 0.0, "replacement": False, "min_width": width, "max_width": width}
    layers = run([], forest, kind="coupled", **changes)
    assert [layer.outcome for layer in layers] == outcomes
    first = layers[0]
    assert [toy.text(beam.node) for beam in first.beams] == ["aa", "ba", "ab", "a."][:width]
    assert (first.width.width, first.trials) == (width, [])
    reason = "bonus" if outcomes == ["bonus"] else "min_width"
    assert first.width.numbers.width_reason == reason
    kinds = ["guessed" if draw.node in nodes else "fresh" for draw in first.draws]
    assert [draw.kind for draw in first.draws] == (["bonus"] * width if reason == "bonus" else kinds)
    assert {(draw.c, draw.uniform, draw.noise) for draw in first.draws} == {(None, None, 0.0)}


EOS = 2
THRESHOLDS = (0.0, 0.1, 0.5, 0.9, 1.0, 2.0)


def run_joint(tables: Tables, block: tuple[int, ...], threshold: float, uniform: float = 0.37):
    """Verify one block as the draft's best beam; the layers, and their tokens with the verdict or kind of each."""
    nodes, layers = [toy.ROOT], []
    for token in block:
        probs = np.array(tables.next_token["draft"](path_of(nodes[-1])))
        distribution = DraftDistribution(nodes[-1:], np.zeros(probs.size, dtype=np.int64), np.arange(probs.size), probs)
        nodes.append(nodes[-1].child(token))
        layers.append(ForestLayer(nodes[-1:], [float(probs[token])], [], distribution))

    def next_tokens(nodes):
        with np.errstate(divide="ignore"):
            rows = [np.log(np.array(tables.next_token["target"](path_of(node)))) for node in nodes]
        return [TopTokens(np.arange(row.size), row) for row in rows]

    def logs(role):
        probs = [tables.next_token[role](block[:at])[token] for at, token in enumerate(block)]
        return [math.log(prob) if prob > 0 else -math.inf for prob in probs]

    settings = ResolvedSettings(method="mjsd", top_k=0, joint_threshold=threshold)
    forest, log_probs = Forest([Beam(toy.ROOT, 0.0)], layers), [*zip(logs("target"), logs("draft"), strict=True)]
    layers = verify_joint(forest, nodes[1:], log_probs, next_tokens, settings, tables.eos, Uniforms([uniform]))
    kinds = [layer.draws[0].kind if layer.draws else layer.trials[0].verdict for layer in layers]
    return layers, [(layer.beams[0].node.token, kind) for layer, kind in zip(layers, kinds, strict=True)]


def oracle(tables: Tables, block: tuple[int, ...], threshold: float, uniform: float):
    """The rule of docs/algorithm.md, *Joint tests*, with products of probabilities."""
    p, q = tables.next_token["target"], tables.next_token["draft"]
    ratios, ratio = [], 1.0
    for at, token in enumerate(block):
        ratio *= p(block[:at])[token] / q(block[:at])[token]
        ratios.append(ratio)
    good = [one > 0 and min(1.0, one) >= threshold for one in ratios]
    count = max((at + 1 for at, one in enumerate(good) if one), default=0)
    expected = [(token, "accepted" if one else "carried") for token, one in zip(block[:count], good, strict=False)]
    if count and block[count - 1] in tables.eos:
        return expected
    row = p(block[:count])
    token = next(token for token in range(len(row)) if uniform < sum(row[: token + 1]))
    return [*expected, (token, "bonus" if count == len(block) else "fresh")]


def blocks(tables: Tables, depth: int):
    """Every block of ``depth`` tokens; one that ends is shorter."""
    for block in product(range(tables.vocabulary), repeat=depth):
        ends = [at for at, token in enumerate(block) if token in tables.eos]
        if not ends or ends[0] == depth - 1:
            yield block


def agrees(tables: Tables, depth: int) -> Counter:
    """Compare every block and threshold; count what came out. Ratios within rounding of a threshold are left out."""
    seen: Counter = Counter()
    for block, threshold, uniform in product(blocks(tables, depth), THRESHOLDS, (0.15, 0.8)):
        layers, tokens = run_joint(tables, block, threshold, uniform)
        assert tokens == oracle(tables, block, threshold, uniform), (block, threshold)
        path = tuple(token for token, _ in tokens)
        weight = sum(math.log(tables.next_token["target"](path[:at])[token]) for at, token in enumerate(path))
        assert layers[-1].beams[0].log_weight == pytest.approx(weight, abs=1e-12)
        seen.update(kind for _, kind in tokens)
        seen.update(layer.outcome for layer in layers)
    return seen


class Impossible(Tables):
    """Tables whose target never takes token 1 after token 0."""

    def _target(self, path):
        row = super()._target(path)
        left = [0.0 if token == 1 and path[-1:] == (0,) else prob for token, prob in enumerate(row)]
        return [prob / sum(left) for prob in left]


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_block_of_small_tables_is_decided_as_the_oracle_does(depth):
    """Catches any other rule, and a threshold of 0 that lets the impossible pass; carried beginnings, ends and every
    kind of last token occur."""
    seen = agrees(Impossible(2, 3), depth)
    for seed in range(4):
        seen += agrees(Tables(seed, 3 + seed % 2, EOS if seed % 3 else None, likeness=0.2), depth)
    assert {"accepted", "fresh", "bonus", "passed", "short", "finished"} <= set(seen)
    assert bool(seen["carried"]) == (depth > 1)
