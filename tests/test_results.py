"""What a prompt of Python prints for the objects that a user holds."""

from functools import lru_cache

import pytest

import dsbd
import visualize
from dsbd.law.beams import Hypothesis, Node
from dsbd.measure.bench.records import BenchSummary
from tests.toy_pair import toy_pair


@lru_cache(maxsize=1)
def last_update():
    return list(dsbd.stream(toy_pair(), "One day\n" * 4, dsbd.DecodingSettings(max_new_tokens=24), record=True))[-1]


def long_path(node=None):
    for token in range(3000):
        node = (node or Node(None, -1, 0)).child(token)
    return node


HELD = {
    "a pair": lambda result: toy_pair(),
    "a model": lambda result: toy_pair().target,
    "an update": lambda result: last_update(),
    "a result": lambda result: result,
    "a path": lambda result: Hypothesis(long_path(), -1.0, -1.0, False, 1),
    "a trace": lambda result: result.trace,
    "an iteration": lambda result: result.trace.iterations[0],
    "a scene": lambda result: visualize.scene(result.trace),
    "a viewer": lambda result: visualize.show(result),
    "a figure": lambda result: visualize.decode_figure(result.trace),
    "a bench": lambda result: BenchSummary(contenders=(), ratios={"a": dict.fromkeys("b" * 500)}),
}


@pytest.mark.parametrize("name", HELD)
def test_a_repr_is_one_short_line(name):
    """Catches a trace, a page or a text that fills the screen, and a path that is too deep to print."""
    shown = repr(HELD[name](last_update().result))
    assert "\n" not in shown
    assert 20 < len(shown) < 400
