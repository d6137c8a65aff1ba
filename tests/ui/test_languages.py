"""The page in other languages: the tables, and the script that exchanges the texts."""

import json
import re
from importlib import resources

import pytest
from playwright.sync_api import expect

from tests.ui.visit import require_clean
from visualize.words.words import known_languages

TABLES = {
    code: json.loads((resources.files("ui") / f"languages/{code}.json").read_text(encoding="utf-8"))
    for code in known_languages()
    if code != "en"
}
SLOT = re.compile(r"\{\d\}")
SAME = re.compile(
    r"DSBD.*|Plotly|GIF|MB|auto|Top-[kp]|SpecInfer|MJ[SG]D|draft_width = .*|Python.*|cpu|float\d+|torch|"
    r"[\w.-]+/.*|[a-z_]+(:[a-z-]+)?|\u2068.*|The method: .*|Dynamic-Width .*|, AAAI.*|arXiv.*|"
    r"Textbox|Checkbox|Radio|Loading|More tabs|Copy|Toy story"
)
"""What every language says alike: names, and what a field takes as it is written; and a few words of Gradio."""


def test_every_language_has_the_same_texts_with_the_same_slots():
    """Catches a text that one language lacks, and a number that a translation leaves out or says twice."""
    for code, table in TABLES.items():
        assert list(table) == list(TABLES["de"]), code
        for text, own in table.items():
            assert own.strip(), (code, text)
            assert sorted(SLOT.findall(own)) == sorted(SLOT.findall(text)), (code, text)


def choose(page, language):
    page.select_option(".language-switch select", language)


@pytest.mark.slow
def test_the_page_and_its_viewer_change_language_and_back(visit):
    """Catches a text that stays English, a token that is translated, and a tab whose address is lost."""
    page = visit.page
    tab = page.locator("#tabs [data-tab-id=race]")
    written = page.inner_text(".running-line")
    choose(page, "de")
    expect(tab).to_have_text("Rennen")
    page.wait_for_selector("#forest .dsbd[lang=de]")
    visit.open_drawer()
    assert page.input_value("#method input") == "Mehrere Texte: DSBD"
    page.click(".drawer-close")
    assert page.inner_text(".running-line") == written
    page.fill("#prompt textarea", " ")
    page.click("#run")
    expect(page.locator("#problem")).to_have_text(
        "Die Eingabe ist leer; ein paar Wörter schreiben oder ein Beispiel wählen."
    )
    for name in ("race", "learn", "about"):
        page.locator(f"#tabs [data-tab-id={name}]").click()
        page.wait_for_url(f"**/#{name}")
        page.wait_for_timeout(500)
    missed = [text for text in page.evaluate("[...DsbdLanguage.missed]") if not SAME.fullmatch(text)]
    assert not missed, " | ".join(missed)
    choose(page, "ar")
    page.wait_for_selector("html[lang=ar][dir=rtl]")
    choose(page, "en")
    expect(tab).to_have_text("Race")
    assert page.evaluate("document.documentElement.dir") == "ltr"
    require_clean(visit)


@pytest.mark.slow
def test_the_choice_is_kept_and_an_unknown_language_is_no_file(visit, address):
    """Catches a choice that ends with its page, and an address that reads other files."""
    page = visit.page
    choose(page, "es")
    expect(page.locator("#run")).to_have_text("Ejecutar")
    page.reload()
    expect(page.locator("#run")).to_have_text("Ejecutar")
    for name in ("en", "xx", "..%2Fabout%2Fabout"):
        assert page.request.get(f"{address}gradio_api/dsbd/languages/{name}.json").status == 404
