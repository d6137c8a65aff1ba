"""Seven languages: each table is complete, has all placeholders, and is used by the figures and the viewer."""

import json
import string

import pytest

import visualize
from tests.visualize.homes import unfold, viewer
from tests.visualize.toy import toy_trace
from visualize.viewer.bundle import source
from visualize.words.plurals import plural_category
from visualize.words.words import known_languages

LANGUAGES = ("ar", "de", "en", "es", "fr", "ja", "zh")
TABLES = {language: json.loads(source(f"words/{language}.json")) for language in known_languages()}
TRACE = toy_trace()


def placeholders(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}


def test_there_are_seven():
    assert known_languages() == LANGUAGES
    assert all(TABLES[language]["language"] == language for language in LANGUAGES)
    assert [language for language in LANGUAGES if TABLES[language]["direction"] == "rtl"] == ["ar"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_has_every_string_with_its_placeholders(language):
    """Catches a missing string, which shows its key to the reader, and a missing placeholder, which hides a number.

    And a key that is listed twice: JSON keeps the second only.
    """
    pairs = json.loads(source(f"words/{language}.json"), object_pairs_hook=list)
    assert len(pairs) == len({key for key, _ in pairs})
    table, english = (without_counts(TABLES[code]) for code in (language, "en"))
    assert list(table) == list(english)
    for key, text in table.items():
        assert placeholders(text) == placeholders(english[key]), key
        assert bool(text.strip()) == bool(english[key].strip()), key
        # pages put these words into HTML as they are
        assert not key.startswith("page.") or not set(text) & set('<>&"'), key


def without_counts(table: dict[str, str]) -> dict[str, str]:
    """Return the table without its counted nouns: languages differ in how many forms a noun has."""
    return {key: text for key, text in table.items() if not key.startswith("count.")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_noun_has_every_form_that_its_language_asks_for(language):
    """Catches a number whose noun is missing, and a form that no number ever takes."""
    forms = dict.fromkeys(plural_category(language, count) for count in range(1000))
    nouns = ("drafts", "nodes", "cover", "beams", "tokens", "passes")
    asked = {f"count.{noun}.{form}" for noun in nouns for form in forms}
    counts = {key: text for key, text in TABLES[language].items() if key.startswith("count.")}
    assert set(counts) == asked
    assert all(placeholders(text) <= {"count"} and text for text in counts.values())
    assert all("{count}" in text for key, text in counts.items() if key.endswith(("few", "many", "other")))


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_a_table_is_a_translation_and_not_a_copy(language):
    alike = {"trial.ratio", "trial.residual", "block.prefix", "step.trial", "step.draw"}  # formulas; “Token” in German
    alike |= {key for key in TABLES["en"] if key.startswith(("formula.", "count."))}
    sentences = [key for key, text in TABLES["en"].items() if len(text.split()) > 4 and key not in alike]
    assert [key for key in sentences if TABLES[language][key] == TABLES["en"][key]] == []


@pytest.mark.slow
def test_the_reader_switches_the_language_without_a_server(browser, tmp_path):
    path = tmp_path / "viewer.html"
    visualize.export_html(TRACE, path, language="de")
    with viewer(browser, path, "#iteration=2&step=8") as seen:
        page = seen.page
        unfold(page)
        said = set()
        for language in ("de", *LANGUAGES):
            page.select_option(".dsbd-language", language)
            said.add(seen.sentence)
            assert page.get_attribute(".dsbd", "lang") == language
            assert page.get_attribute(".dsbd", "dir") == TABLES[language]["direction"]
            assert page.evaluate("() => document.activeElement.className") == "dsbd-language"
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert len(said) == len(LANGUAGES)
        page.wait_for_url("**lang=zh")
        page.reload()
        page.wait_for_selector(".dsbd[lang=zh]")
        seen.quiet()


@pytest.mark.slow
def test_the_switch_is_seen_and_the_choice_is_kept_on_the_next_page(browser, exported, tmp_path):
    """Catches a switch in a closed fold, a choice that ends with its page, and a stored value that breaks it."""
    visualize.export_html(TRACE, tmp_path / "other.html")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(exported.as_uri())
        page.get_by_label("Language of sentences and labels").select_option("de")
        page.goto((tmp_path / "other.html").as_uri())
        assert page.locator(".dsbd").get_attribute("lang") == "de"
        page.evaluate("localStorage.setItem('dsbd-language', 'nonsense')")
        page.goto(exported.as_uri())  # no language in the address
        assert page.locator(".dsbd").get_attribute("lang") == "en"
    finally:
        context.close()
