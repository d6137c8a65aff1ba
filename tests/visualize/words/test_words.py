"""Sentences contain their numbers, with enough digits to see which is larger."""

import json
import re
from importlib import resources

import pytest

from dsbd.methods import resolve
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Draw, Layer, Node, Trial
from visualize.scenes.chances import chances_of
from visualize.words.words import Words, number, tell_apart

WORDS = Words()


def trial(verdict="accepted", **changes):
    fields = {"draft_prob": 0.5, "residual_prob": 0.305, "c": 0.0, "S": 1.0, "acceptance": 0.61, "uniform": 0.42}
    return Trial(layer=1, order=0, node=1, verdict=verdict, joint=None, **{**fields, **changes})


UNDECIDED = {"acceptance": None, "uniform": None, "residual_prob": None}


@pytest.mark.parametrize(
    ("verdict", "changes", "key", "values"),
    [
        ("accepted", {}, "accepted", {"ratio": "0.61", "u": "0.42"}),
        ("rejected", {"uniform": 0.61003}, "rejected", {"ratio": "0.61000", "u": "0.61003"}),
        ("accepted", {"acceptance": 1.0, "residual_prob": 0.6}, "accepted_sure", {"residual": "0.60", "draft": "0.50"}),
        ("rejected", {"acceptance": 0.0, "residual_prob": 0.0}, "rejected_none", {}),
        ("rejected", {"acceptance": 0.0, "residual_prob": 0.0, "c": 1.2}, "rejected_used", {}),
        ("accepted", {"uniform": None}, "accepted_plain", {}),
        ("orphaned", UNDECIDED, "orphaned", {}),
        ("unneeded", UNDECIDED, "unneeded", {"width": 3}),
    ],
)
def test_trials(verdict, changes, key, values):
    assert WORDS.trial(trial(verdict, **changes), width=3) == WORDS(f"trial.{key}", **values)


def test_draws_tell_their_interval():
    draw = Draw(1, 0, "recovered", 1, False, 0.2, 0.1, 0.35, 0.7, 0.73, 0.7, 0.81)
    assert (WORDS.draw(draw), WORDS.interval(draw)) == (
        WORDS("draw.recovered"), "u = 0.73 ∈ [0.70, 0.81) · max(P − 0.35·Q, 0)"
    )  # fmt: skip
    landed = Draw(1, 0, "fresh", 1, True, 0.2, 0.1, 0.0, 1.0, 0.5, 0.25, 1.0)
    assert WORDS.draw(landed).endswith(WORDS("draw.landed"))
    assert WORDS.interval(landed) == "u = 0.50 ∈ [0.25, 1) · P"


def test_the_arithmetic_of_a_trial_is_told_apart_from_its_sentence():
    """Catches a formula that says another verdict than the sentence, or numbers that look equal and are not."""
    node = Node(1, 0, 1, 5, "x", "drafted", False, None, None, target_prob=0.305, draft_prob=0.5)
    assert WORDS.arithmetic(trial(), node) == "u = 0.42 < 0.61 = P′/Q; P′ = 0.30, Q = 0.50"
    missed = trial("rejected", uniform=0.61003)
    assert WORDS.arithmetic(missed, node).startswith("u = 0.61003 ≥ 0.61000 = P′/Q; ")
    assert WORDS.arithmetic(trial(acceptance=1.0, residual_prob=0.6), node) == "P′ = 0.60, Q = 0.50"
    assert WORDS.arithmetic(trial("orphaned", **UNDECIDED), node) == ""


def layer(width, distribution=(0.04, 0.1, 0.12, 0.22, 0.52), kind="draft", planned=None, width_uniform=None):
    planned = planned or (len(distribution) - 1 if kind == "draft" else 0)
    return Layer(1, kind, [0], planned, [], [], [], list(distribution) if planned else [], 9, width, "as recorded",
                 0, "short", [], [], [], None, width_uniform)  # fmt: skip


CHANCE = {"method": "random_width", "width_weights": (1, 2, 1)}


@pytest.mark.parametrize(
    ("made", "changes", "key"),
    [
        (layer(3), {}, "between"),
        (layer(4), {"width_threshold": 0.5}, "all"),
        (layer(4), {"min_width": 4}, "min"),
        (layer(2), {"max_width": 2}, "max"),
        (layer(2), {}, "support"),
        (layer(6, kind="bonus"), {}, "bonus"),
        (layer(2, kind="bonus", width_uniform=0.4), CHANCE, "random"),
        (layer(2, kind="bonus", width_uniform=0.8), {**CHANCE, "replacement": False}, "bonus_all"),
        (layer(2, kind="bonus", planned=4), {"method": "width_rule_sampling", "max_width": 2}, "max"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reason_of_a_width_is_found_again_from_the_distribution(made, changes, key):
    settings = resolve(DecodingSettings(**changes))
    chances = chances_of(made, settings)
    reached, missed = (chances[at] if at < len(chances) else 0.0 for at in (made.width - 1, made.width))
    said, _ = WORDS.width(made, settings, chances)
    shown = zip(("reached", "missed", "threshold"), tell_apart(reached, missed, settings.width_threshold), strict=True)
    drawn = {"u": "0.40", "low": "0.25", "high": "0.75"} if key == "random" else {}
    expected = WORDS(f"width.{key}", width=made.width, next=made.width + 1, **dict(shown), **drawn)
    assert said == (WORDS("width.rule", reason=expected) if "method" in changes and key == "max" else expected)


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


def test_different_numbers_look_different():
    assert tell_apart(0.30001, 0.3, 0.3) == ["0.30001", "0.30000", "0.30000"]


@pytest.mark.parametrize(
    ("language", "count", "said"),
    [("en", 1, "1 node"), ("en", 2, "2 nodes"), ("fr", 0, "0 nœud"), ("zh", 1, "1 个节点"), ("ar", 2, "عقدتان"),
     ("ar", 103, "103 عقد")],
)  # fmt: skip
def test_a_noun_has_the_form_of_its_number(language, count, said):
    """Catches "1 nodes", and two of something in Arabic, which has its own form."""
    assert Words(language).counted("nodes", count) == said


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
