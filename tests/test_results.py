"""What a prompt of Python prints for the objects that a user holds, and examples of docstrings."""

import doctest

import dsbd
import visualize
from dsbd import results, stopping
from dsbd.law.beams import Hypothesis, Node
from tests.contest.made_up import made_up_table
from tests.toy_pair import toy_pair


def test_a_repr_is_one_short_line():
    """Catches a trace, a page or a text that fills the screen, and a path that is too deep to print."""
    settings = dsbd.DecodingSettings(max_new_tokens=24)
    *_, update = dsbd.stream(toy_pair(), "One day\n" * 4, settings, record=True)
    trace, node = update.result.trace, Node(None, -1, 0)
    for token in range(3000):
        node = node.child(token)
    held = [toy_pair(), toy_pair().target, update, update.result, trace, trace.iterations[0],
            visualize.show(update.result), visualize.decode_figure(trace), Hypothesis(node, -1.0, -1.0, False, 1),
            made_up_table()]  # fmt: skip
    for one in held:
        shown = repr(one)
        assert "\n" not in shown
        assert 20 < len(shown) < 400, type(one)


def test_the_examples_hold():
    """Catches an example that says something else than the code does."""
    for module in (results, stopping):
        assert doctest.testmod(module).failed == 0
