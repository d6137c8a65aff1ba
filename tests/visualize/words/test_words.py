"""Sentences contain their numbers, with enough digits to see which is larger."""

import json
import re
from importlib import resources

import pytest

from visualize.words.words import Words, number

WORDS = Words()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.42, "0.42"), (0.0312, "0.031"), (0.00051, "0.00051"), (3.1e-5, "3.1·10⁻⁵"),
     (-2.0712, "−2.07"), (0.999, "1.00"), (999e6, "999000000"), (1.25e9, "1.3·10⁹"),
     (-2.0e60, "−2.0·10⁶⁰"), (1.7e308, "1.7·10³⁰⁸")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_the_viewer_names_only_strings_that_exist():
    folder = resources.files("visualize")
    table = json.loads((folder / "words" / "en.json").read_text(encoding="utf-8"))
    text = "".join(entry.read_text(encoding="utf-8") for entry in sorted((folder / "viewer").rglob("*.js")))
    groups = (
        "ui|bar|head|mark|formula|story|node|text|mask|slots|residual|layer|trial|draw|step|figure|tab|table|whatif"
        "|evidence"
    )
    named = set(re.findall(rf'"((?:{groups})\.[a-z_]+)"', text))
    assert len(named) > 60
    assert named <= set(table)


def test_every_refusal_of_the_live_form_is_a_sentence():
    """Catches an error whose words are missing, and a sentence that no error says."""
    folder = resources.files("visualize")
    table = json.loads((folder / "words" / "en.json").read_text(encoding="utf-8"))
    text = "".join(entry.read_text(encoding="utf-8") for entry in sorted((folder / "live").glob("*.js")))
    kinds = {"whole", "number", "above"}  # of a setting that is out of its range
    said = {key.removeprefix("page.live.refused.") for key in table if key.startswith("page.live.refused.")}
    assert said == kinds | set(re.findall(r'new Refused\("(\w+)"', text))
