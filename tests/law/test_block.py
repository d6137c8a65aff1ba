"""Block verification of a chain at its edges; test_enumeration has its law."""

import numpy as np

from dsbd.law import toy
from dsbd.law.block import Beginning, Link, beginnings_of, try_beginnings
from dsbd.law.choices import Uniforms


def test_nothing_is_accepted_where_the_target_has_no_such_pair() -> None:
    """Catches a chance above 0 after a draft that top-k cut from P, and a chain of none."""
    laws = toy.target_law().probs, toy.DRAFT_PROBS
    nodes = (toy.AA, toy.AA.child(0), toy.AA.child(0).child(0))
    links = [Link(node, None if node is nodes[1] else 0, 0.25, *laws) for node in nodes]
    found = beginnings_of(links)
    assert [one.node for one in found] == list(nodes)
    assert [(one.probability, one.acceptance) for one in found[1:]] == [(0.0, 0.0)] * 2
    assert try_beginnings(found, Uniforms([0.0, 0.0, 0.999]))[1] in (0, 1)
    assert beginnings_of([]) == []
    assert try_beginnings([], Uniforms([])) == ([], 0)


def test_equal_laws_leave_no_rest() -> None:
    """Catches 0 / 0 where P and Q of the layer below are equal: a longer beginning is then accepted."""
    law = np.array([0.5, 0.25, 0.25])
    links = [Link(node, 0, 0.5, law, law) for node in (toy.AA, toy.AA.child(0))]
    assert [(one.rest, one.acceptance) for one in beginnings_of(links)] == [(0.0, 0.0), (None, 1.0)]
    assert not Beginning(toy.AA, 0.5, 1.0, None, 1.0).accepted  # not tested yet
