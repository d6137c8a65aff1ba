"""The About tab: marks, models, limits, citation."""

import re
from pathlib import Path

from ui.about import models as about_models
from ui.about import tab as about

from visualize.look.states import MARKS
from visualize.words.words import Words

ROOT = Path(__file__).resolve().parents[3]


def test_every_mark_of_the_drawings_is_defined():
    """Catches a mark that is drawn and never explained, and one with another name than in the drawings."""
    assert {mark: name for mark, (name, _) in about.MARKS.items()} == {mark: Words()(f"mark.{mark}") for mark in MARKS}
    assert about.marks().count("<svg") == len(about.MARKS)


def test_a_card_has_no_dead_links_and_no_heading_above_the_page_s():
    markup = about_models.card_markup("---\nlicense: x\n---\n# Title\n[a](../x) <b>\n\n| | a |\n|---|---|\n| b | c |\n")
    assert markup.startswith("<h3>Title</h3>\n<p>a &lt;b&gt;</p>")
    assert "<th></th>" not in markup


def test_the_citation_is_that_of_the_repository():
    """Catches a citation that says something else than CITATION.cff."""
    bib = (ROOT / "ui" / "about" / "citation.bib").read_text(encoding="utf-8").replace("{", "").replace("}", "")
    paper = (ROOT / "CITATION.cff").read_text(encoding="utf-8").split("preferred-citation:")[1]
    for value in re.findall(r'(?:title|family-names|given-names|collection-title|year|notes): "?([^"\n]+)"?', paper):
        assert value in bib
