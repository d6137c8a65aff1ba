"""What a visitor reads names models and files, never where they lie on this machine."""

import json
from dataclasses import replace

import pytest
from ui.about.models import models
from ui.asked.link import pair_name, query_of
from ui.engine import Engine
from ui.host.allowed_models import AllowedModels
from ui.host.limits import Limits
from ui.pairs.names import without_folders
from ui.pairs.shelf import PAGE, public_key
from ui.runs.sentences import sentence

from dsbd.errors import PairError
from dsbd.settings import DecodingSettings
from tests.toy_pair import toy_pair, toy_pair_on
from ui.play import pair_loading

FOLDER = "/srv/people/anna/models"
KEY = f"{FOLDER}/large + {FOLDER}/small"
ALL = AllowedModels("*")


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("cannot load '/srv/models/large': no config", "cannot load 'large': no config"),
        ("cannot write (/root/.cache/huggingface/hub/x.lock)", "cannot write (x.lock)"),
        ("[Errno 28] No space left: '/home/me/My files/a b.bin'", "[Errno 28] No space left: 'a b.bin'"),
        ("~/models/large is no folder", "large is no folder"),
        (r"cannot open C:\Users\me\large", "cannot open large"),
        ("/srv/models/large/ is empty", "large is empty"),
        ("see https://huggingface.co/owner/name, and/or owner/name", None),
        ("a name that /list_traces says; 3/4 of it; docs/hosting.md has the table", None),
    ],
)
def test_a_path_has_only_its_last_part(words, read):
    assert without_folders(words) == (read or words)


def test_pairs_in_folders_are_shown_by_their_names_and_can_be_chosen_again():
    """Catches the folders of the page's own pair, and those that another visitor loaded, in what a browser gets."""
    page_pair = toy_pair()
    target, draft = (replace(model, id=f"{FOLDER}/{model.id}") for model in (page_pair.target, page_pair.draft))
    engine = Engine(replace(page_pair, target=target, draft=draft), Limits(max_loaded_pairs=4), allowed=ALL)
    engine.pairs.put(KEY, toy_pair_on("eager"))
    offered = pair_loading.choices(engine)
    assert [words for words, _ in offered][-1] == "large + small"
    shown = [offered, models(engine.pairs), query_of("Once", DecodingSettings(), pair_name(PAGE, engine.pairs))]
    assert "anna" not in json.dumps(shown)
    assert engine.pairs.words(PAGE) == "target + draft"
    assert FOLDER not in sentence(PairError(f"cannot load '{FOLDER}/large': [Errno 2] {FOLDER}/large/config.json"))
    assert [one for one in engine.pairs.available() if public_key(one) == public_key(KEY)] == [KEY]
    assert public_key("owner/large + owner/small") == "owner/large + owner/small"
