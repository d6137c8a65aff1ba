"""Plans of ``auto`` on disk: found again under the same conditions only, and nothing damaged or foreign is used."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import dsbd
from dsbd.api import planning
from dsbd.auto.kept import PLANS, load_plan, save_plan
from dsbd.auto.measuring import known_plan, known_plans
from dsbd.auto.plan import MeasuredForest, choose_forest
from dsbd.cache_folder import cache_folder
from dsbd.conditions import conditions
from dsbd.settings import AUTO
from tests.toy_pair import toy_pair

ALL = dsbd.DecodingSettings(draft_depth=AUTO, draft_width=AUTO, cover_width=AUTO, forest=AUTO)
HERE = {
    "machine": {"processor": "made up", "threads": 2},
    "versions": {"dsbd": "1"},
    "models": {"target": {"id": "t", "dtype": "float32", "digest": "a"}, "draft": {"id": "d", "digest": "b"}},
}
BASELINE = MeasuredForest("sampled", 1, 0, ((0, 0.010),), 0.5, 0, 4.0)
GOOD = MeasuredForest("sampled", 6, 8, ((4, 0.018), (6, 0.02)), 0.8, 90, 4.0)


def made(asked=ALL, best=GOOD):
    asked = replace(asked, max_width=asked.widest)
    return choose_forest(
        asked, [BASELINE, MeasuredForest("sampled", 6, 0, ((best.deepest, 0.03),), 0.3, 90, 4.0), best]
    )


def only_file():
    (path,) = (cache_folder() / PLANS).iterdir()
    return path


@pytest.mark.parametrize(
    ("changes", "best"),
    [
        ({}, GOOD),
        ({"draft_depth": 3}, replace(GOOD, seconds=((3, 0.02),))),
        ({"forest": "likely"}, replace(GOOD, forest="likely", cover_width=0, draft_width=24)),
        ({}, replace(GOOD, seconds=((6, 9.0),))),
        ({"method": "speculative"}, MeasuredForest("sampled", 1, 0, ((6, 0.012),), 0.9, 90, 4.0)),
    ],
    ids=["all", "fixed depth", "likely", "does not pay", "speculative"],
)
def test_a_plan_comes_back_as_it_was(changes, best):
    """Catches a value that a file changes: a tuple of costs, a depth that is given, a plan that drafts nothing."""
    asked = replace(ALL, **changes)
    plan = made(asked, best)
    save_plan(HERE, asked, plan)
    assert load_plan(HERE, asked) == plan


def test_a_plan_is_for_its_conditions_and_settings_alone():
    """Catches a plan of another machine, version, model or law; seed and length are shared."""
    save_plan(HERE, ALL, made())
    for place, name, value in (
        ("machine", "processor", "another"),
        ("machine", "threads", 4),
        ("versions", "dsbd", "2"),
        ("models", "draft", {"id": "d", "digest": "c"}),
    ):
        assert load_plan(HERE | {place: HERE[place] | {name: value}}, ALL) is None, name
    for changes in ({"temperature": 0.5}, {"num_beams": 5}, {"replacement": False}, {"draft_depth": 4}):
        assert load_plan(HERE, replace(ALL, **changes)) is None, changes
    assert load_plan(HERE, replace(ALL, seed=7, max_new_tokens=9, length_penalty=0.5)) == made()


def changed(**values):
    return lambda text: json.dumps(json.loads(text) | values, separators=(",", ":"))


def with_values(**values):
    return lambda text: changed(values=json.loads(text)["values"] | values)(text)


DAMAGES = {
    "cut": lambda text: text[:-30],
    "no text": lambda text: b"\xff\xfe",
    "deep": lambda text: "[" * 5000,
    "infinite": lambda text: text.replace('"layers_per_second":', '"layers_per_second":1e999,"x":'),
    "more": changed(more=1),
    "control": changed(sentence="\x1b[2J"),
    "bad settings": changed(settings={"temperature": "hot"}),
    "other conditions": changed(conditions=HERE | {"machine": {"threads": 99}}),
    "wide": with_values(draft_width=256),
    "deep for its width": with_values(cover_width=24, draft_depth=10, depth_costs=[1.0] * 11),
    "costs": with_values(depth_costs=[1.0]),
    "auto": with_values(forest="auto"),
    "beams": with_values(max_width=64),
    "continuation": with_values(continuation=2.0),
    "seed": with_values(seed=3),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_or_foreign_file_is_ignored(damage):
    """Catches a file that is believed: one cut off, one of another format, one with a forest that nobody tried."""
    save_plan(HERE, ALL, made())
    text = only_file().read_text()
    assert changed()(text) == text, "a change is written as the program writes"
    damaged = damage(text)
    only_file().write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    assert load_plan(HERE, ALL) is None
    save_plan(HERE, ALL, made())
    assert load_plan(HERE, ALL) == made(), "the next plan takes its place"


def test_a_forest_at_its_largest_is_believed():
    """Catches bounds that are tighter than the trials: their plan would be measured again at every start."""
    save_plan(HERE, ALL, made())
    only_file().write_text(with_values(cover_width=24, draft_depth=9, depth_costs=[1.0] * 10)(only_file().read_text()))
    assert load_plan(HERE, ALL).values["cover_width"] == 24


def test_a_folder_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path, caplog):
    """Catches an error where a host is read-only."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("DSBD_CACHE", str(tmp_path / "file"))
    save_plan(HERE, ALL, made())
    assert load_plan(HERE, ALL) is None
    (record,) = caplog.records
    assert "measures again; set DSBD_CACHE to a folder" in record.message


def test_the_cache_folder(monkeypatch):
    """Catches a setting that is not followed."""
    for name, value, folder in (("HOME", "/h", "/h/.cache/dsbd"), ("XDG_CACHE_HOME", "/x", "/x/dsbd"),
                                ("DSBD_CACHE", "/own", "/own")):  # fmt: skip
        monkeypatch.setenv(name, value)
        if name == "HOME":
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
            monkeypatch.delenv("DSBD_CACHE")
        assert cache_folder() == Path(folder)


def test_the_same_pair_loaded_again_needs_no_trials():
    """Catches a plan that only its own process knows; another pair of the same names has none."""
    pair, again, other = (replace(toy_pair()) for _ in range(3))
    other = replace(other, draft=other.target)
    save_plan(conditions(pair), ALL, made())
    assert known_plan(again, ALL) == made()
    assert list(known_plans(again).values()) == [made()]
    assert known_plan(other, ALL) is None
    assert list(planning(again, "Once upon", ALL)) == []
    assert dsbd.decode(replace(pair), "Once", replace(ALL, max_new_tokens=3)).settings.cover_width == 8
