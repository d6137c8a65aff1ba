"""The joint test against a short oracle: every block over small tables, thresholds, ends, and two wrong variants."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from dsbd.law import toy
from dsbd.law.beams import Beam
from dsbd.law.choices import Uniforms
from dsbd.law.forest import DraftLaw, Forest, ForestLayer
from dsbd.law.joint import BestBeam, verify_joint
from dsbd.law.laws import TopTokens
from dsbd.settings import ResolvedSettings
from tests.law.drafted import path_of
from tests.law.oracle import Tables

EOS = 2
THRESHOLDS = (0.0, 0.1, 0.5, 0.9, 1.0, 2.0)


def run(tables: Tables, block: tuple[int, ...], threshold: float, uniform: float = 0.37):
    """Verify one block as the draft's best beam; the layers, and their tokens with the verdict or kind of each."""
    nodes, layers = [toy.ROOT], []
    for token in block:
        probs = np.array(tables.next_token["draft"](path_of(nodes[-1])))
        law = DraftLaw(nodes[-1:], np.zeros(probs.size, dtype=np.int64), np.arange(probs.size), probs)
        nodes.append(nodes[-1].child(token))
        layers.append(ForestLayer(nodes[-1:], [float(probs[token])], [], law))

    def next_tokens(asked):
        with np.errstate(divide="ignore"):
            rows = [np.log(np.array(tables.next_token["target"](path_of(one)))) for one in asked]
        return [TopTokens(np.arange(row.size), row) for row in rows]

    def logs(role):
        probs = [tables.next_token[role](block[:at])[token] for at, token in enumerate(block)]
        return [math.log(prob) if prob > 0 else -math.inf for prob in probs]

    settings = ResolvedSettings(method="mjsd", top_k=0, joint_threshold=threshold)
    forest, beam = Forest([Beam(toy.ROOT, 0.0)], layers), BestBeam(nodes[1:], logs("target"), logs("draft"))
    found = verify_joint(forest, beam, next_tokens, settings, tables.eos, Uniforms([uniform]))
    kinds = [layer.draws[0].kind if layer.draws else layer.trials[0].verdict for layer in found]
    return found, [(layer.beams[0].node.token, kind) for layer, kind in zip(found, kinds, strict=True)]


def oracle(tables: Tables, block: tuple[int, ...], threshold: float, uniform: float):
    """The rule of docs/algorithm.md, *Joint tests*, with products of probabilities."""
    p, q = tables.next_token["target"], tables.next_token["draft"]
    ratios, ratio = [], 1.0
    for at, token in enumerate(block):
        ratio *= p(block[:at])[token] / q(block[:at])[token]
        ratios.append(ratio)
    good = [one > 0 and min(1.0, one) >= threshold for one in ratios]
    count = max((at + 1 for at, one in enumerate(good) if one), default=0)
    told = [(token, "accepted" if one else "carried") for token, one in zip(block[:count], good, strict=False)]
    if count and block[count - 1] in tables.eos:
        return told
    row = p(block[:count])
    token = next(token for token in range(len(row)) if uniform < sum(row[: token + 1]))
    return [*told, (token, "bonus" if count == len(block) else "fresh")]


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
        layers, told = run(tables, block, threshold, uniform)
        assert told == oracle(tables, block, threshold, uniform), (block, threshold)
        path = tuple(token for token, _ in told)
        weight = sum(math.log(tables.next_token["target"](path[:at])[token]) for at, token in enumerate(path))
        assert layers[-1].beams[0].log_weight == pytest.approx(weight, abs=1e-12)
        seen.update(kind for _, kind in told)
        seen.update(layer.outcome for layer in layers)
    return seen


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_block_of_small_tables_is_decided_as_the_oracle_does(depth):
    """Catches any other rule; carried beginnings, ends and every kind of last token occur."""
    seen: Counter = Counter()
    for seed in range(4):
        seen += agrees(Tables(seed, 3 + seed % 2, EOS if seed % 3 else None, likeness=0.2), depth)
    assert {"accepted", "fresh", "bonus", "passed", "short", "finished"} <= set(seen)
    assert bool(seen["carried"]) == (depth > 1)


class Impossible(Tables):
    """Tables whose target never takes token 1 after token 0."""

    def _target(self, path):
        row = super()._target(path)
        return [0.0 if token == 1 else prob for token, prob in enumerate(row)] if path[-1:] == (0,) else row


def test_a_token_that_the_target_finds_impossible_ends_what_is_accepted():
    """Catches a threshold of 0 that lets it pass, and a sum that becomes no number."""
    tables = Impossible(2, 3)
    layers, told = run(tables, (0, 1, 2), 0.0)
    assert told[0] == (0, "accepted")
    assert told[1][1] == "fresh"
    assert told[1][0] != 1
    assert [trial.verdict for trial in layers[1].trials] == ["rejected", "rejected"]
    assert all(trial.acceptance == 0 for trial in layers[1].trials)
