"""The examples in the docstrings of tasks and evaluations give what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["tasks.sql.rows", "tasks.sql.text", "evaluation.fronts"])
def test_the_examples_hold(name):
    done = doctest.testmod(importlib.import_module(f"dsbd.{name}"))
    assert (done.failed, done.attempted > 0) == (0, True)
