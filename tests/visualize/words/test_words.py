"""Sentences contain their numbers, with enough digits to see which is larger."""

import json
import re
from importlib import resources

import pytest

from dsbd.methods import resolve
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Layer, Trial
from visualize.scenes.chances import chances_of
from visualize.words.words import Words, number, tell_apart

WORDS = Words()


def trial(verdict, **changes):
    fields = {"draft_prob": 0.5, "residual_prob": 0.305, "c": 0.0, "S": 1.0, "acceptance": 0.61, "uniform": None}
    return Trial(layer=1, order=0, node=1, verdict=verdict, joint=None, **{**fields, **changes})


def layer(width):
    return Layer(1, "draft", [0], 4, [], [], [], [0.04, 0.1, 0.12, 0.22, 0.52], 9, width, "as recorded", 0, "short",
                 [], [], [], None)  # fmt: skip


def test_what_no_recording_has_is_said():
    """Catches a verdict without its random number that has none of its words; ``twins.test.js`` holds all others."""
    assert WORDS.trial(trial("accepted"), width=3) == WORDS("trial.accepted_plain")
    settings = resolve(DecodingSettings())
    made = layer(2)
    reached, missed, threshold = tell_apart(*chances_of(made, settings)[1:3], settings.width_threshold)
    shown = {"reached": reached, "missed": missed, "threshold": threshold}
    assert WORDS.width(made, settings, chances_of(made, settings))[0] == WORDS("width.support", width=2, **shown)


def test_without_settings_the_recorded_reason_stands():
    assert WORDS.width(layer(3), None, []) == ("as recorded", "")


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
    kinds = set(re.findall(r'kind: "(whole|number)"', text)) | {"above"}  # of a setting that is out of its range
    said = {key.removeprefix("page.live.refused.") for key in table if key.startswith("page.live.refused.")}
    assert said == kinds | set(re.findall(r'new Refused\("(\w+)"', text))
