"""Sentences contain their numbers, with enough digits to see which is larger."""

import json
import re
from importlib import resources

import pytest

from dsbd.methods import resolve
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Draw, Layer, Trial
from visualize.scenes.chances import chances_of
from visualize.words.words import Words, number, tell_apart

WORDS = Words()


def trial(verdict="accepted", **changes):
    fields = {"draft_prob": 0.5, "residual_prob": 0.305, "c": 0.0, "S": 1.0, "acceptance": 0.61, "uniform": 0.42}
    return Trial(layer=1, order=0, node=1, verdict=verdict, reason="", **{**fields, **changes})


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (trial(), "accepted, because the random number 0.42 is below its chance 0.61 (u < P′/Q)"),
        (
            trial("rejected", uniform=0.7),
            "rejected, because the random number 0.70 is not below its chance 0.61 (u ≥ P′/Q)",
        ),
        (
            trial("rejected", uniform=0.61003),
            "rejected, because the random number 0.61003 is not below its chance 0.61000 (u ≥ P′/Q)",
        ),
        (
            trial(acceptance=1.0, residual_prob=0.6),
            "accepted whatever the random number, because the target leaves it at least the probability that the draft "
            "model gave it (P′ = 0.60 ≥ Q = 0.50)",
        ),
        (
            trial("rejected", acceptance=0.0, residual_prob=0.0),
            "rejected: the target has no probability left for it (P′ = 0)",
        ),
        (trial(uniform=None), "accepted without a random number"),
        (
            trial("orphaned", acceptance=None, uniform=None, residual_prob=None),
            "orphaned: the token before it was not kept, so it is rejected without a trial",
        ),
        (
            trial("unneeded", acceptance=None, uniform=None, residual_prob=None),
            "unneeded: the layer already has its full width of 3",
        ),
    ],
)
def test_trials(made, sentence):
    assert WORDS.trial(made, width=3) == sentence


def test_draws():
    draw = Draw(1, 0, "recovered", 1, False, 0.2, 0.1, 0.35, 0.7, 0.73, 0.7, 0.81)
    said = (
        "recovered: the drafts are used up, and the target picks this beam from what they left of its probabilities; "
        "u = 0.73 falls in [0.70, 0.81) of max(P − 0.35·Q, 0)"
    )
    assert WORDS.draw(draw) == said
    landed = Draw(1, 0, "fresh", 1, True, 0.2, 0.1, 0.0, 1.0, 0.5, 0.25, 1.0)
    assert WORDS.draw(landed) == (
        "fresh: the target picks this beam itself, from its own probabilities; u = 0.50 falls in [0.25, 1) of P; "
        "landed, because it is a node of the forest"
    )


def layer(width, distribution=(0.04, 0.1, 0.12, 0.22, 0.52), kind="draft", planned=None, width_uniform=None):
    planned = planned or (len(distribution) - 1 if kind == "draft" else 0)
    return Layer(1, kind, [0], planned, [], [], [], list(distribution) if planned else [], 9, width, "as recorded",
                 0, "short", [], [], width_uniform=width_uniform)  # fmt: skip


@pytest.mark.parametrize(
    ("made", "changes", "sentence"),
    [
        (
            layer(3),
            {},
            "width 3 is likely enough to be reached, width 4 is not "
            "(P(accepted ≥ 3) = 0.74 ≥ 0.70 > 0.52 = P(accepted ≥ 4))",
        ),
        (
            layer(4),
            {"width_threshold": 0.5},
            "width 4 is likely enough to be reached, and there are no more drafts (P(accepted ≥ 4) = 0.52 ≥ 0.50)",
        ),
        (
            layer(4),
            {"min_width": 4},
            "width 4 is the smallest allowed (min_width), although it is not likely enough to be reached "
            "(P(accepted ≥ 4) = 0.52 < 0.70)",
        ),
        (
            layer(2),
            {"max_width": 2},
            "width 2 is the largest allowed (max_width); width 3 would be likely enough too "
            "(P(accepted ≥ 3) = 0.74 ≥ 0.70)",
        ),
        (layer(2), {}, "width 2: the target gives no other pair of beam and token a probability above 0"),
        (layer(6, kind="bonus"), {}, "width 6: the bonus layer is as wide as allowed (max_width)"),
        (
            layer(2, kind="bonus", width_uniform=0.4),
            {"method": "random_width", "width_weights": (1, 2, 1)},
            "width 2 was drawn by chance, before any beam of the layer; u = 0.40 falls in [0.25, 0.75) of the allowed "
            "widths",
        ),
        (
            layer(2, kind="bonus", width_uniform=0.8),
            {"method": "random_width", "width_weights": (1, 2, 1), "replacement": False},
            "width 2: the bonus layer has every pair of beam and token with a probability above 0",
        ),
        (
            layer(2, kind="bonus", planned=4),
            {"method": "width_rule_sampling", "max_width": 2},
            "width 2 is the largest allowed (max_width); width 3 would be likely enough too "
            "(P(accepted ≥ 3) = 0.74 ≥ 0.70); the rule only imagines the drafts: none was made, and the target draws "
            "the whole layer",
        ),
    ],
)
def test_widths_are_found_again_from_the_distribution(made, changes, sentence):
    settings = resolve(DecodingSettings(**changes))
    assert WORDS.width(made, settings, chances_of(made, settings))[0] == sentence


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
    """Catches "1 nodes", and two of something in Arabic, which has a form of its own."""
    assert Words(language).counted("nodes", count) == said


def test_a_language_is_known_or_refused():
    with pytest.raises(ValueError, match="no strings for language 'xx'; there are ar, de, en"):
        Words("xx")


def test_the_viewer_names_only_strings_that_exist():
    folder = resources.files("visualize")
    table = json.loads((folder / "words" / "en.json").read_text(encoding="utf-8"))
    text = "".join(entry.read_text(encoding="utf-8") for entry in sorted((folder / "viewer").rglob("*.js")))
    groups = (
        "ui|bar|head|mark|node|text|mask|slots|residual|layer|trial|draw|step|figure|tab|table|whatif|evidence|diff"
    )
    named = set(re.findall(rf'"((?:{groups})\.[a-z_]+)"', text))
    assert len(named) > 60
    assert named <= set(table)
