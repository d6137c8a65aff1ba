"""The About tab: marks, models, limits, citation; a card's text never becomes markup."""

import re
from pathlib import Path

from ui.about import models as about_models
from ui.about import tab as about
from ui.host.limits import Limits
from visualize.look.states import MARKS
from visualize.words.words import Words

ROOT = Path(__file__).resolve().parents[3]


def test_every_mark_of_the_drawings_is_defined():
    """Catches a mark that is drawn and never explained, and one with another name than in the drawings."""
    assert {mark: name for mark, (name, _) in about.MARKS.items()} == {mark: Words()(f"mark.{mark}") for mark in MARKS}
    assert about.marks().count("<svg") == len(about.MARKS)


def test_the_picture_the_limits_and_the_models_are_those_of_this_page(engine, recorded):
    picture = about.algorithm(engine)
    assert picture.count("<svg") == 2
    assert "<script" not in picture
    table = about.limits(engine)
    assert table.count("<tr>") == len(Limits.model_fields) + 1
    assert "DSBD_MAX_NODES" in table
    markup = about_models.models(engine.pairs)
    assert all(name in markup for name in ("toy/target", "toy/draft", "float64"))
    assert "/tmp" not in markup


def test_a_hostile_card_stays_text():
    card = (
        "---\nlicense: x\n---\n# Title\n<script>alert(1)</script>\n[a](javascript:alert(1)) [b](../../x) "
        '[c](https://example.org/"onmouseover=x)\n\n<img src=x onerror=alert(1)>\n'
    )
    markup = about_models.card_markup(card)
    assert "license" not in markup
    assert "<h3>Title</h3>" in markup
    assert "<script" not in markup
    assert "<img" not in markup
    assert set(re.findall('href="([^"]*)"', markup)) == {"https://example.org/%22onmouseover=x"}
    assert "<th></th>" not in about_models.card_markup("| | a |\n|---|---|\n| b | c |\n")
    assert "<pre>" in about_models.card_markup("![x](https://evil.test/x.png)\n<b>")


def test_the_citation_is_that_of_the_repository():
    """Catches a citation that says something else than CITATION.cff."""
    bib = (ROOT / "ui" / "about" / "citation.bib").read_text(encoding="utf-8").replace("{", "").replace("}", "")
    paper = (ROOT / "CITATION.cff").read_text(encoding="utf-8").split("preferred-citation:")[1]
    for value in re.findall(r'(?:title|family-names|given-names|collection-title|year|notes): "?([^"\n]+)"?', paper):
        assert value in bib
