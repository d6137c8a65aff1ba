"""The examples of the law room and of docs/algorithm.md give what they say."""

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_examples_of_the_page_hold() -> None:
    """Catches a page that says something else than the code does."""
    page = ROOT / "docs" / "algorithm.md"
    text = page.read_text(encoding="utf-8").replace("```", "")  # a fence would count as output
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(examples.examples) > 20
    assert doctest.DocTestRunner().run(examples).failed == 0
