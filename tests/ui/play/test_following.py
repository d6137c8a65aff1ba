"""What the form follows: a pair with recordings or without, a link, and ``auto`` where its trials were made before."""

from dataclasses import replace
from urllib.parse import urlencode

import pytest
from tests.auto.test_kept import GOOD, made

from dsbd.auto import save_plan
from dsbd.conditions import conditions
from dsbd.settings import AUTO, DecodingSettings
from tests.toy_pair import toy_pair
from ui.asked.form import FIELDS, settings_of, values_of
from ui.asked.link import Linked
from ui.decodes import traces
from ui.decodes.opening import said_beside
from ui.decodes.recording import Recording
from ui.engine import Engine
from ui.page import build_page
from ui.pairs.shelf import PAGE
from ui.play.following import NOW, SAID, follow, with_auto
from ui.play.play_form import updates
from ui.runs import decode
from ui.runs.around import KEEP

OPENING = DecodingSettings(temperature=0.8, max_width=5)
ASKED = replace(OPENING, draft_depth=AUTO, draft_width=AUTO, cover_width=AUTO, forest=AUTO)


@pytest.fixture
def engine(recorded):
    return Engine(replace(toy_pair()))


def test_a_link_to_another_pair_brings_its_prompt_and_settings(engine):
    """Catches a link whose prompt is lost because the form follows the pair."""
    key, settings = "bundled:sql", DecodingSettings(seed=5)
    followed = follow(engine, key, (), None, Linked("Q: why?", settings, key))
    assert (followed[14:-2], followed[-1]) == (updates("Q: why?", settings, engine.limits), NOW)
    assert follow(engine, key, (), None, Linked(None, settings, key))[-1] == KEEP


def test_what_is_said_beside_is_escaped_and_names_no_folder(recorded):
    toy = traces.open_recorded("toy-story")
    models = replace(toy.trace.models, target=replace(toy.trace.models.target, id="/home/me/<b>large"))
    words = said_beside("<i>other", Recording(replace(toy.trace, models=models)))
    assert "made by &lt;b&gt;large. No decode of &lt;i&gt;other" in words
    assert said_beside("a", None).startswith("No decode of a is recorded")
    assert said_beside("toy/target", toy).startswith("What is shown is a decode of toy/target")


def save(engine, asked=ASKED, best=GOOD):
    save_plan(conditions(engine.pair), asked, made(asked, best))


def test_auto_is_the_default_once_its_plan_is_there(engine):
    """Catches trials of half a minute that nobody asked for, and a page without a forest to look at."""
    assert with_auto(engine, PAGE, OPENING) is None
    save(engine, replace(ASKED, temperature=0.5))
    assert with_auto(engine, PAGE, OPENING) is None, "the plan is for other settings"
    save(engine, replace(ASKED, temperature=0.7), replace(GOOD, seconds=((6, 9.0),)))
    assert with_auto(engine, PAGE, replace(OPENING, temperature=0.7)) is None, "the plan drafts nothing"
    save(engine)
    assert with_auto(engine, PAGE, OPENING) == ASKED
    assert with_auto(engine, PAGE, replace(OPENING, seed=9, max_new_tokens=7)).seed == 9
    assert with_auto(engine, PAGE, replace(OPENING, method="speculative")) is None, "it has no field for it"
    assert with_auto(engine, "bundled:sql", OPENING) is None, "nothing is loaded for a default"


def test_what_a_program_leaves_out_keeps_its_documented_default(engine):
    """Catches an endpoint whose results change because somebody used the page."""
    default = DecodingSettings()
    save(engine, replace(default, draft_depth=AUTO, draft_width=AUTO, cover_width=AUTO, forest=AUTO))
    *_, answer = decode.decode(engine, "me", "Once", {"max_new_tokens": 3})
    found = answer["settings"]
    assert [found[name] for name in ("forest", "draft_depth", "draft_width", "cover_width")] == ["sampled", 4, 6, 0]


def test_the_page_says_so_and_the_form_shows_it(engine):
    """Catches a form that is left as it was, a sentence without its form, and an address that is not followed."""
    (load,) = [one for one in build_page(engine).fns.values() if one.name == "restore"]

    def opened(**query):
        return load.fn(urlencode(query))

    assert opened() == [KEEP] * len(load.outputs)
    opening = DecodingSettings.from_dict(vars(traces.opening_recording(engine.pair.target.id).trace.settings))
    save(engine, settings_of("dsbd", values_of(replace(opening, forest=AUTO))))
    prompt, method, *fields, note, problem, pairs, linked, now = opened()
    shown = {field.name: update["value"] for field, update in zip(FIELDS, fields, strict=True)}
    assert (method, shown["forest"], shown["seed"]) == ("dsbd", AUTO, opening.seed)
    assert note.endswith(SAID)
    assert prompt == problem == pairs == linked == now == KEEP
    *_, note, _, _, _, now = opened(prompt="Once")
    assert SAID not in note
    assert now == NOW
