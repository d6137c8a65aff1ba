"""The examples of the law room and of docs/algorithm.md give what they say."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["beams", "forest", "joint", "laws", "verified", "verify", "width"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_law_room_hold(name: str) -> None:
    """Catches an example that says something else than the code does, and a public function without one."""
    module = importlib.import_module(f"dsbd.law.{name}")
    examples = {example.name: example for example in doctest.DocTestFinder().find(module) if example.examples}
    functions = {f"dsbd.law.{name}.{thing}" for thing, _ in inspect.getmembers(module, inspect.isfunction)}
    own = {thing for thing in functions if getattr(module, thing.rpartition(".")[2]).__module__ == module.__name__}
    assert {thing for thing in own if "._" not in thing} <= set(examples)
    assert [failed for failed, example in examples.items() if doctest.DocTestRunner().run(example).failed] == []


def test_the_examples_of_the_page_hold() -> None:
    """Catches a page that says something else than the code does."""
    page = ROOT / "docs" / "algorithm.md"
    text = page.read_text(encoding="utf-8").replace("```", "")  # a fence would count as output
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(examples.examples) > 20
    assert doctest.DocTestRunner().run(examples).failed == 0
