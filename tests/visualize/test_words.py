"""The words: seven complete tables, whose keys the code names; and the texts of the viewer's files, once joined."""

import json
import re
import string
from importlib import resources

import pytest

from visualize.viewer.bundle import ENTRY, joined, source
from visualize.words import Words, known_languages, plural_category

LANGUAGES = ("ar", "de", "en", "es", "fr", "ja", "zh")
TABLES = {language: json.loads(source(f"words/{language}.json")) for language in known_languages()}
ROOT = resources.files("visualize")
FILES = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "viewer").rglob("*.js"))


def placeholders(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_has_every_string_with_its_placeholders_and_every_noun_its_forms(language):
    """Catches a missing string, placeholder or form, a duplicate key, and a sentence left in English."""
    pairs = json.loads(source(f"words/{language}.json"), object_pairs_hook=list)
    table, english = TABLES[language], TABLES["en"]
    assert (table["language"], table["direction"] == "rtl") == (language, language == "ar")
    assert len(pairs) == len({key for key, _ in pairs})
    plain = {key for key in english if not key.startswith("count.")}
    assert {key for key in table if not key.startswith("count.")} <= plain  # English fills in what is missing
    for key in plain & set(table):
        assert placeholders(table[key]) == placeholders(english[key]), key
        assert bool(table[key].strip()) == bool(english[key].strip()), key
        assert not key.startswith("page.") or not set(table[key]) & set('<>&"'), key  # these go into HTML as they are
    forms = dict.fromkeys(plural_category(language, count) for count in range(1000))
    nouns = ("drafts", "nodes", "cover", "beams", "tokens", "passes")
    assert set(table) - plain == {f"count.{noun}.{form}" for noun in nouns for form in forms}
    alike = {"trial.ratio", "trial.residual", "block.prefix", "step.trial", "step.draw"}  # formulas; “Token” in German
    sentences = [key for key in plain - alike if len(english[key].split()) > 4 and not key.startswith("formula.")]
    assert language == "en" or [key for key in sentences if table.get(key) == english[key]] == []


def test_the_code_names_only_strings_that_exist():
    """Catches an error of the live form without words, and a sentence that no error has."""
    viewer, live = (
        "".join(file.read_text("utf-8") for file in (ROOT / part).glob("*.js")) for part in ("viewer", "live")
    )
    groups = "ui|bar|head|mark|formula|node|text|mask|residual|layer|trial|draw|step|figure|tab|table|cut|lanes"
    named = set(re.findall(rf'"((?:{groups})\.[a-z_]+)"', viewer))
    assert len(named) > 60
    assert named <= set(TABLES["en"])
    refusals = {"whole", "number", "above"} | set(re.findall(r'new Refused\("(\w+)"', live))
    assert set(Words().below("page.live.refused.")) == refusals


def test_joining_loses_no_text():
    """Joining drops comments and indentation, so no string may span lines or look like a comment."""
    assert not re.search(r"^(?: |/\*)| // ", joined(ENTRY), re.M)
    for name in FILES:
        for line in source(name).split("\n"):
            assert line.count("`") % 2 == 0, (name, line)
            assert not re.search(r"[\"'`][^\"'`]* // [^\"'`]*[\"'`]", line), (name, line)
