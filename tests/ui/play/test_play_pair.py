"""What the Play tab shows for a pair with recordings, and for one without."""

from dataclasses import replace

import pytest

import dsbd
from tests.toy_pair import toy_pair
from ui.asked.examples import QUESTIONS
from ui.asked.link import Linked
from ui.decodes import traces
from ui.decodes.opening import opening_of, said_beside
from ui.decodes.recording import Recording
from ui.engine import Engine
from ui.pairs.shelf import PAGE
from ui.play.following import follow
from ui.play.play_form import updates

SQL = "bundled:sql"
FIRST = next(iter(QUESTIONS.values()))


@pytest.fixture
def engine(recorded):
    return Engine(toy_pair())


@pytest.fixture
def toy(recorded) -> Recording:
    return traces.open_recorded("toy-story")


def parts(followed) -> dict:
    """What is followed, by name."""
    return {"listed": followed[0], "words": followed[1:5], "frame": followed[5:14], "form": followed[14:-1]}


def test_a_pair_begins_with_its_first_recording_or_else_its_example(engine, toy):
    """Catches a prompt out of another pair's recording, and a picture that does not say whose it is."""
    found = parts(follow(engine, SQL, (), toy, None))
    assert found["form"] == updates(FIRST, None, engine.limits)
    note = found["frame"][3]
    assert note.startswith("What is shown was made by toy/target.")
    assert "bundled:sql/target" in note
    assert found["listed"]["value"] is None
    assert found["listed"]["choices"] == [("Toy story", "toy-story")]
    assert [one["value"] for one in found["words"]] == list(QUESTIONS)
    found = parts(follow(engine, PAGE, (), None, None))
    assert found["form"] == updates(toy.prompt, toy.trace.settings, engine.limits)
    assert found["listed"]["value"] == "toy-story"
    assert found["frame"][3].startswith("A recorded decode.")


@pytest.mark.parametrize("key", [SQL, PAGE])
def test_what_a_link_asks_for_goes_first(engine, toy, key):
    """Catches a link whose prompt is lost because the form follows the pair."""
    settings = dsbd.DecodingSettings(seed=5)
    found = parts(follow(engine, key, (), toy, Linked("Q: why?", settings, key)))
    assert found["form"] == updates("Q: why?", settings, engine.limits)
    assert found["frame"][3].startswith("The link filled in the form")
    assert ("made by toy/target" in found["frame"][3]) == (key == SQL)
    alone = parts(follow(engine, key, (), toy, Linked(None, None, key)))
    assert alone["form"] == parts(follow(engine, key, (), toy, None))["form"]
    only_settings = parts(follow(engine, SQL, (), toy, Linked(None, settings, SQL)))
    assert only_settings["form"] == updates(FIRST, settings, engine.limits)


def test_a_page_opens_with_its_own_recording_or_its_own_example(recorded, toy):
    own = opening_of("toy/target")
    assert (own.recording, own.prompt, own.settings) == (toy, toy.prompt, toy.trace.settings)
    other = opening_of("bundled:sql/target")
    assert (other.recording, other.prompt, other.settings) == (toy, FIRST, dsbd.DecodingSettings())
    assert "made by toy/target" in other.note


def test_what_is_said_beside_is_escaped_and_names_no_folder(toy):
    models = replace(toy.trace.models, target=replace(toy.trace.models.target, id="/home/me/<b>large"))
    words = said_beside("<i>other", Recording(replace(toy.trace, models=models)))
    assert "made by &lt;b&gt;large. No decode of &lt;i&gt;other" in words
    assert said_beside("a", None).startswith("No decode of a is recorded")
    assert said_beside("toy/target", toy).startswith("What is shown is a decode of toy/target")
