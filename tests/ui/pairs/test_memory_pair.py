"""The bundled story pair with its memory on the page: when it is offered, what it reads, and what is refused."""

import json
from dataclasses import replace

import pytest
from transformers import AutoTokenizer
from ui.asked.examples import OF_TARGET, STORIES, examples_for
from ui.asked.form import check_prompt
from ui.decodes.python_lines import python_lines
from ui.decodes.running_text import running_text
from ui.engine import Engine
from ui.host.limits import Limits
from ui.jobs import recorded_decode
from ui.pairs.shelf import PAGE, PairShelf
from ui.runs import decode

import dsbd
from dsbd.assets import asset_path
from dsbd.errors import PairError, SettingsError
from dsbd.memory.reading import Memory
from dsbd.models.loading import WITH_MEMORY, load_pair
from tests.memory.toys import random_network
from tests.toy_pair import toy_pair, toy_pair_on
from tests.ui.served import form_values

TARGET = "bundled:memory/target"
LONG = "The fox and the owl met in the old wood. " * 3
"""123 tokens; the context of the toy has 128."""


def remembering_pair():
    """Return a toy pair with a random memory."""
    pair = toy_pair_on("eager")
    memory = Memory("toy-memory", random_network(pair.target.model.config.hidden_size))
    return replace(pair, target=replace(pair.target, id=TARGET, memory=memory))


@pytest.fixture
def engine():
    """A page whose bundled pair with memory is a toy."""

    def load(target, draft):
        yield "loading"
        assert (target, draft) == (WITH_MEMORY, None)
        return remembering_pair()

    return Engine(toy_pair(), Limits(), load)


def test_a_page_started_with_it_offers_the_pair_without_memory_beside_it():
    pairs = PairShelf(remembering_pair())
    assert pairs.available() == [PAGE, "bundled:stories", "bundled:sql"]
    assert pairs.bundled(PAGE) == WITH_MEMORY


def test_a_long_prompt_is_read_and_then_decoded(engine):
    """Catches a page that refuses the prompt, that says nothing while it is read, or that shows all of it."""
    frames = list(decode.run(engine, "me", LONG, "dsbd", *form_values(), pair=WITH_MEMORY))
    notes = [frame.note for frame in frames if "Reading" in str(frame.note)]
    assert notes[0] == f"Reading the long prompt: 1 of {len(notes)} …"
    *_, last = frames
    assert last.problem == ""
    memory = last.recording.trace.prompt.memory
    assert len(memory.segments) == len(notes)
    assert json.loads(last.forest)["packed"]
    assert running_text(last.recording).prompt == f"… {memory.segments[-1].text.lstrip()}"
    assert f'load_pair("{WITH_MEMORY}")' in python_lines(last.recording.trace).replace("'", '"')


def test_only_the_window_takes_cache_slots(engine):
    engine.limits = Limits(max_cache_slots=120)
    settings = dsbd.DecodingSettings(max_new_tokens=8, draft_depth=2, draft_width=3)
    job = recorded_decode(engine.limits, LONG, settings, WITH_MEMORY)
    job.check(remembering_pair())
    with pytest.raises(SettingsError, match="cache slots"):
        job.check(toy_pair())


def test_the_chapter_fits_the_page_and_not_the_context():
    chapter = examples_for(TARGET)["Oz"]
    assert check_prompt(chapter, Limits()) == chapter
    tokenizer = AutoTokenizer.from_pretrained(asset_path("models/stories/target"), trust_remote_code=False)
    assert len(tokenizer(chapter).input_ids) > 2048
    assert {len(examples) for examples in OF_TARGET.values()} == {len(STORIES)}


def test_it_brings_its_own_memory():
    with pytest.raises(PairError, match="'bundled:memory' brings its own memory; leave memory 'a' out"):
        load_pair(WITH_MEMORY, memory="a")
