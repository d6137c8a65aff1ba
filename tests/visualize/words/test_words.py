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
    ("verdict", "changes", "sentence"),
    [
        ("accepted", {}, "accepted. Its chance was 0.61; the random number, 0.42, is below it"),
        ("rejected", {"uniform": 0.7}, "rejected. Its chance was 0.61; the random number, 0.70, is not below it"),
        ("rejected", {"uniform": 0.61003},
         "rejected. Its chance was 0.61000; the random number, 0.61003, is not below it"),
        ("accepted", {"acceptance": 1.0, "residual_prob": 0.6},
         "accepted for sure: the large model still finds it at least as probable as the small model did "
         "(0.60 against 0.50)"),
        ("rejected", {"acceptance": 0.0, "residual_prob": 0.0},
         "rejected: the large model has no probability left for it"),
        ("rejected", {"acceptance": 0.0, "residual_prob": 0.0, "c": 1.2},
         "rejected: the earlier guesses have used up the probability that the large model had for it"),
        ("accepted", {"uniform": None}, "accepted without a random number"),
        ("orphaned", UNDECIDED, "rejected: the token before it was not kept"),
        ("unneeded", UNDECIDED, "not needed: all places (3) are taken"),
    ],
)  # fmt: skip
def test_trials(verdict, changes, sentence):
    assert WORDS.trial(trial(verdict, **changes), width=3) == sentence


def test_draws():
    draw = Draw(1, 0, "recovered", 1, False, 0.2, 0.1, 0.35, 0.7, 0.73, 0.7, 0.81)
    assert WORDS.draw(draw) == "picked by the large model, from the probability that the guesses left over"
    assert WORDS.interval(draw) == "u = 0.73 ∈ [0.70, 0.81) · max(P − 0.35·Q, 0)"
    landed = Draw(1, 0, "fresh", 1, True, 0.2, 0.1, 0.0, 1.0, 0.5, 0.25, 1.0)
    assert WORDS.draw(landed) == "picked by the large model, from its own probabilities; it was guessed too"
    assert WORDS.interval(landed) == "u = 0.50 ∈ [0.25, 1) · P"


def test_the_arithmetic_of_a_trial_is_told_apart_from_its_sentence():
    """Catches a formula that says another verdict than the sentence, or numbers that look equal and are not."""
    node = Node(1, 0, 1, 5, "x", "drafted", False, None, None, target_prob=0.305, draft_prob=0.5)
    assert WORDS.arithmetic(trial(), node) == "u = 0.42 < 0.61 = P′/Q; P′ = 0.30, Q = 0.50"
    missed = trial("rejected", uniform=0.61003)
    assert WORDS.arithmetic(missed, node).startswith("u = 0.61003 ≥ 0.61000 = P′/Q; ")
    assert WORDS.arithmetic(trial(acceptance=1.0, residual_prob=0.6), node) == "P′ = 0.60, Q = 0.50"
    assert WORDS.arithmetic(trial("orphaned", acceptance=None, uniform=None, residual_prob=None), node) == ""


def layer(width, distribution=(0.04, 0.1, 0.12, 0.22, 0.52), kind="draft", planned=None, width_uniform=None):
    planned = planned or (len(distribution) - 1 if kind == "draft" else 0)
    return Layer(1, kind, [0], planned, [], [], [], list(distribution) if planned else [], 9, width, "as recorded",
                 0, "short", [], [], [], None, width_uniform)  # fmt: skip


CHANCE = {"method": "random_width", "width_weights": (1, 2, 1)}


@pytest.mark.parametrize(
    ("made", "changes", "sentence"),
    [
        (layer(3), {}, "3 or more guesses pass with probability 0.74 (0.70 is asked for), 4 only with 0.52"),
        (layer(4), {"width_threshold": 0.5},
         "4 or more guesses pass with probability 0.52 (0.50 is asked for), and there are no more guesses"),
        (layer(4), {"min_width": 4}, "4 here, the least allowed (min_width): 4 or more guesses pass only with "
         "probability 0.52 (0.70 is asked for)"),
        (layer(2), {"max_width": 2}, "2 here, the most allowed (max_width): even 3 guesses would pass with probability "
         "0.74 (0.70 is asked for)"),
        (layer(2), {}, "keep 2 here: the large model finds nothing else possible"),
        (layer(6, kind="bonus"), {}, "keep 6 here, as many as allowed (max_width)"),
        (layer(2, kind="bonus", width_uniform=0.4), CHANCE,
         "keep 2 here, by chance: the random number 0.40 falls between 0.25 and 0.75"),
        (layer(2, kind="bonus", width_uniform=0.8), {**CHANCE, "replacement": False},
         "keep 2 here, all that the large model finds possible"),
        (layer(2, kind="bonus", planned=4), {"method": "width_rule_sampling", "max_width": 2},
         "0.74 (0.70 is asked for); these guesses are only imagined, and the large model picks all itself"),
    ],
)  # fmt: skip
def test_widths_are_found_again_from_the_distribution(made, changes, sentence):
    settings = resolve(DecodingSettings(**changes))
    said, _ = WORDS.width(made, settings, chances_of(made, settings))
    assert said.startswith(f"keep {made.width} here")
    assert said.endswith(sentence)


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
    [("en", 0, "0 nodes"), ("en", 1, "1 node"), ("en", 2, "2 nodes"), ("es", 1, "1 nodo"), ("fr", 0, "0 nœud"),
     ("zh", 1, "1 个节点"), ("ar", 1, "عقدة واحدة"), ("ar", 2, "عقدتان"), ("ar", 3, "3 عقد"), ("ar", 11, "11 عقدة"),
     ("ar", 100, "100 عقدة"), ("ar", 103, "103 عقد")],
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
        "|evidence|diff"
    )
    named = set(re.findall(rf'"((?:{groups})\.[a-z_]+)"', text))
    assert len(named) > 60
    assert named <= set(table)
