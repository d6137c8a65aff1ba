"""The examples in the docstrings of dsbd/tasks give what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["sql.rows", "sql.text"])
def test_the_examples_hold(name):
    done = doctest.testmod(importlib.import_module(f"dsbd.tasks.{name}"))
    assert (done.failed, done.attempted > 0) == (0, True)
