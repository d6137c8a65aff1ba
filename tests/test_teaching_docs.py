"""The snippets and commands of docs/teaching.md work."""

import re
import shlex
from pathlib import Path

import pytest

import visualize
from dsbd.assets import asset_path
from tests.visualize.homes import visit
from visualize.pages.lesson import parse_lesson
from visualize.pages.lesson_page import stops_of

TEXT = (Path(__file__).parents[1] / "docs" / "teaching.md").read_text(encoding="utf-8")
BASE = "https://example.org/forests/"
PAGE = f"{BASE}forests/1-dynamic-width.html"
SNIPPETS = {
    name: content
    for name, _, content in re.findall(r"<!-- snippet: (\S+) -->\n(`{3,})\w+\n(.*?)^\2$", TEXT, re.S | re.M)
}


@pytest.mark.parametrize("kind", ["iframe", "jupyter", "quarto", "myst", "moodle", "wordpress"])
def test_snippets_are_those_that_are_tested(kind):
    """Catches a page that teaches an older snippet; tests/visualize/embed/test_snippets.py opens each."""
    assert visualize.embed_snippet(PAGE, kind) == SNIPPETS[kind]


def test_the_notebook_cell_is_the_one_that_is_tested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fox.json.gz").write_bytes((asset_path("traces") / "5-speculative-sampling.json.gz").read_bytes())
    assert visualize.embed_snippet("fox.json.gz", "jupyter") == SNIPPETS["jupyter-trace"]


@pytest.mark.slow
def test_the_slide_steps_a_site(browser, tmp_path):
    """Catches a script that the site does not have, and attributes that it does not read."""
    visualize.export_site(asset_path("traces"), tmp_path)
    slide = SNIPPETS["reveal"].replace(BASE, "")
    reveal = "globalThis.Reveal = {heard: {}, on(name, act) { this.heard[name] = act; }};"
    deck = f'<!doctype html><meta charset="utf-8"><script>{reveal}</script>'
    (tmp_path / "deck.html").write_text(deck + slide, encoding="utf-8")
    steps = visualize.scene(asset_path("traces") / "1-dynamic-width.json.gz").iterations[0].steps
    with visit(browser, tmp_path / "deck.html") as seen:
        (frame,) = seen.drawn()
        says = "text => document.querySelector('.dsbd-sentence').textContent === text"
        frame.wait_for_function(says, arg=steps[5].sentence)
        seen.page.evaluate(
            """() => { const fragment = document.querySelector(".dsbd-step"); fragment.classList.add("visible");
                       Reveal.heard.fragmentshown({fragment}); }"""
        )
        frame.wait_for_function(says, arg=steps[6].sentence)
        seen.quiet()


def test_the_lesson_is_complete():
    lesson = parse_lesson(SNIPPETS["lesson"], asset_path("lessons") / "mine.md")
    stops = stops_of(lesson, visualize.scene(lesson.trace))
    assert [(stop.step, stop.answer_step) for stop in stops][1] == (5, 6)
    assert [card.question is not None for card in lesson.cards] == [False, True]


def test_the_commands_are_accepted_in_the_order_of_the_page(tmp_path, monkeypatch):
    """Catches flags that do not exist, and a file in a folder that the page does not make first."""
    from dsbd.__main__ import parser

    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^(mkdir|python -m dsbd) (.+?)(?:\s+#.*)?$", TEXT, re.M)
    assert "python -m dsbd" in dict(found)
    for program, rest in found:
        words = shlex.split(rest)
        if program == "mkdir":
            Path(words[0]).mkdir()
        else:
            parser().parse_args(words)
