"""A model that a visitor named is tried in a separate process, which may end or take too long."""

import os
import re
import shutil
import sys

import pytest
from ui.pairs import apart

from dsbd.errors import PairError
from tests.models import hostile


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        (sys.exit, "a/b", "'a/b' without its weights ended the process"),
        (os.system, "sleep 2", "takes more than 0.5 seconds"),
    ],
)
def test_a_process_that_ends_or_takes_too_long_is_a_sentence(function, given, said, monkeypatch):
    """Catches a page that ends with the process of a library, or waits for it."""
    monkeypatch.setattr(apart, "try_out", function)
    monkeypatch.setattr(apart, "SECONDS", 0.5 if function is os.system else 60)
    with pytest.raises(PairError, match=f"{re.escape(said)}.*choose another model"):
        list(apart.trying([given]))


def test_what_is_refused_there_is_refused_here(toy_folders, tmp_path):
    """Catches a sentence that is lost between two processes, and a good model that the limits do not let through."""
    folder = tmp_path / "model"
    shutil.copytree(toy_folders["draft"], folder)
    hostile.own_kind(folder)
    steps = apart.trying([toy_folders["draft"], str(folder)])
    assert [next(steps), next(steps)] == ["trying draft", "trying model"]
    with pytest.raises(PairError, match="such code is never run here"):
        next(steps)
    assert not list(folder.rglob(hostile.RAN))
