"""Block verification of a chain: the chances by the paper's formula, and the tests from the longest beginning on."""

import math
import random

import numpy as np
import pytest

from dsbd.law import toy
from dsbd.law.block import Beginning, Link, beginnings_of, try_beginnings
from dsbd.law.choices import Uniforms


def chain_of(seed: int, drafts: int) -> list[Link]:
    """A chain over three tokens with random laws, its drafts at random."""
    source, node, links = random.Random(seed), toy.A, []
    for _ in range(drafts):
        laws = [np.array([source.random() + 0.02 for _ in range(3)]) for _ in range(2)]
        target, draft = (law / law.sum() for law in laws)
        token = source.randrange(3)
        node = node.child(token)
        links.append(Link(node, token, float(draft[token]), target, draft))
    return links


def chances(links: list[Link]) -> list[float]:
    """The paper's h_1 .. h_γ, written out."""
    p, found = 1.0, []
    for place, link in enumerate(links):
        p = min(1.0, p * link.target[link.pair] / link.draft_prob)
        if place == len(links) - 1:
            return [*found, p]
        following = zip(links[place + 1].target.tolist(), links[place + 1].draft.tolist(), strict=True)
        s = math.fsum(max(p * target - draft, 0.0) for target, draft in following)
        found.append(s / (s + 1.0 - p) if s + 1.0 - p > 0 else 0.0)
    return found


@pytest.mark.parametrize("drafts", [1, 2, 4])
def test_the_chances_are_the_papers(drafts: int) -> None:
    """Catches a p that forgets the drafts before, and a sum over the wrong layer."""
    for seed in range(20):
        links = chain_of(seed, drafts)
        assert [one.acceptance for one in beginnings_of(links)] == pytest.approx(chances(links), abs=1e-12)
        assert [one.node for one in beginnings_of(links)] == [link.node for link in links]


def test_nothing_is_accepted_where_the_target_has_no_such_pair() -> None:
    """Catches a chance above 0 after a draft that top-k cut from P, and a chain of none."""
    links = chain_of(5, 3)
    links[1] = links[1]._replace(pair=None)
    found = beginnings_of(links)
    assert (found[1].probability, found[1].acceptance) == (0.0, 0.0)
    assert (found[2].probability, found[2].acceptance) == (0.0, 0.0)
    assert try_beginnings(found, Uniforms([0.0, 0.0, 0.999]))[1] in (0, 1)
    assert beginnings_of([]) == []
    assert try_beginnings([], Uniforms([])) == ([], 0)


def test_equal_laws_leave_no_rest() -> None:
    """Catches 0 / 0 where P and Q of the layer below are equal: a longer beginning is then accepted."""
    law = np.array([0.5, 0.25, 0.25])
    links = [Link(node, 0, 0.5, law, law) for node in (toy.AA, toy.AA.child(0))]
    assert [(one.rest, one.acceptance) for one in beginnings_of(links)] == [(0.0, 0.0), (None, 1.0)]
    assert not Beginning(toy.AA, 0.5, 1.0, None, 1.0).accepted  # not tested yet
