"""The fold that plans a pair: computed and marked so, nothing fetched, nothing of this machine for strangers."""

import re

import pytest

from dsbd.assets import asset_path
from dsbd.measure.planner import plan_memory
from tests.toy_pair import toy_pair
from ui.about.plan_panel import COMPUTED, KNOWN, computed
from ui.engine import Engine
from ui.host.allowed_models import AllowedModels

SQL = asset_path("models/sql")


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_pair())


def test_a_bundled_pair_has_the_figures_of_the_plan(engine):
    """Catches a table that says other figures than the command, or does not say that they are computed."""
    text = computed(engine, "bundled:sql", "", 24)
    found = plan_memory("bundled:sql", memory=24e9)
    assert text.count(COMPUTED) + text.count(COMPUTED.capitalize()) == 2
    for part in ("8,265,408 parameters", "24.0 GB: fits", f"{found.largest_context:,} tokens", "dsbd bench"):
        assert part in text


def test_a_configuration_that_is_not_here_is_a_sentence(engine, monkeypatch, tmp_path):
    """Catches a plan that fetches something."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    asked = []
    monkeypatch.setattr("httpx.Client.send", lambda *given, **more: asked.append(given))
    text = computed(engine, *KNOWN["Qwen/Qwen3-0.6B + Qwen/Qwen3-8B"], 80)
    assert 'role="alert"' in text
    assert "is not on this machine, and nothing is fetched" in text
    assert not asked


def test_strangers_plan_what_the_host_allows(engine):
    """Catches a plan that tells a stranger which folders there are."""
    folders = str(SQL / "target"), str(SQL / "draft")
    assert "does not allow" in computed(engine, *folders, 80)
    own = Engine(toy_pair(), allowed=AllowedModels("*"))
    assert "8,265,408 parameters" in computed(own, *folders, 80)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((None, "", 80), "target is no name"),
        (("x" * 400, "", 80), "target is no name"),
        (("gpt2<script>", "", 80), "&lt;script&gt;"),
        (("bundled:sql", "", "much"), "memory is"),
        (("bundled:sql", "openai-community/gpt2", 80), "brings its own draft"),
    ],
    ids=["nothing", "long", "markup", "memory", "two pairs"],
)
def test_bad_input_is_a_sentence(engine, given, said):
    text = computed(engine, *given)
    assert re.fullmatch('<p class="problem" role="alert">[^<]*</p>', text)
    assert said in text or said.lower() in text
