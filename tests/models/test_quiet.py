"""Libraries are quiet while models are loaded, and say again what the program lets them say afterwards."""

import logging
import sys
import warnings

import pytest
from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging as transformers_logging

import dsbd
from dsbd.models import outline
from dsbd.models.quiet import without_progress, without_warnings

HUB = logging.getLogger("huggingface_hub")
SILENT = (False, True, logging.ERROR)
TALKING = (True, False, logging.INFO)


def state() -> tuple[bool, bool, int]:
    return transformers_logging.is_progress_bar_enabled(), are_progress_bars_disabled(), HUB.level


def switch(bars: bool, hub_silent: bool, level: int) -> None:
    (transformers_logging.enable_progress_bar if bars else transformers_logging.disable_progress_bar)()
    (disable_progress_bars if hub_silent else enable_progress_bars)()
    HUB.setLevel(level)


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    """Leave the switches as they were, whatever the environment says of the hub's."""
    monkeypatch.setattr(sys.modules["huggingface_hub.utils.tqdm"], "HF_HUB_DISABLE_PROGRESS_BARS", None)
    before = state()
    yield
    switch(*before)


@pytest.mark.parametrize("before", [TALKING, (False, True, logging.NOTSET)])
def test_every_switch_is_turned_back_by_the_last_who_leaves(before):
    """Catches progress bars that a program never sees again, or had switched off and sees now; and the first of two
    threads turning back what the second relies on."""
    switch(*before)
    with without_progress:
        with without_progress:
            assert state() == SILENT
        assert state() == SILENT
    assert state() == before


def test_a_load_that_fails_is_quiet_and_turns_back(toy_folders, monkeypatch):
    """Catches a load that switches off for good where it fails."""
    seen = []

    def fail(*given, **more):
        seen.append(state())
        raise OSError("no such file")

    monkeypatch.setattr(outline.AutoConfig, "from_pretrained", fail)
    switch(*TALKING)
    with pytest.raises(dsbd.PairError):
        dsbd.load_pair(toy_folders["draft"], device="cpu", dtype="float32", engine="eager")
    assert set(seen) == {SILENT}
    assert state() == TALKING


def test_warnings_are_hidden_for_a_while(recwarn):
    before = transformers_logging.get_verbosity()
    with without_warnings:
        warnings.warn("unheard", stacklevel=1)
        assert transformers_logging.get_verbosity() == logging.ERROR
    warnings.warn("heard", stacklevel=1)
    assert [str(one.message) for one in recwarn] == ["heard"]
    assert transformers_logging.get_verbosity() == before
