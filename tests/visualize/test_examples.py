"""The examples in the docstrings of ``visualize`` run, and docs/api/drawings.md shows the picture of each figure."""

import doctest
from pathlib import Path

import plotly.graph_objects as go
import pytest

import visualize

ROOT = Path(__file__).parents[2]
EXAMPLES = {name: doctest.DocTestParser().get_examples(getattr(visualize, name).__doc__) for name in visualize.__all__}
PAGE = (ROOT / "docs" / "api" / "drawings.md").read_text(encoding="utf-8")


def test_every_public_name_has_an_example():
    assert [name for name, examples in EXAMPLES.items() if not examples] == []


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_runs(name, tmp_path, monkeypatch):
    """Catches an example with an argument that does not exist, and a figure whose picture is not on the page."""
    for folder in ("assets", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    data = {}
    exec(PAGE.partition("```python\n")[2].partition("```")[0], data)
    (example,) = EXAMPLES[name]
    value = eval(example.source, data)
    assert (value is None) == name.startswith("export_") or "print(" in example.source or name == "export_site"
    assert isinstance(value, go.Figure) == (f"](../images/{name}.webp)" in PAGE)


def test_the_text_on_the_page_is_what_the_examples_print():
    """Catches a page that shows the text of an earlier version."""
    trace = ROOT / "assets/traces/1-dynamic-width.json.gz"
    printed = visualize.forest_text(trace, 0).splitlines()
    shown = [line for block in PAGE.split("```text\n")[1:] for line in block.partition("```")[0].splitlines()]
    assert len(shown) > 10
    assert [line for line in shown if not any(one.startswith(line.removesuffix(" …")) for one in printed)] == []
