"""Choosing another pair in a browser: prompt, examples and recordings follow, and the next run takes it."""

import re

import pytest

import dsbd
from dsbd.assets import asset_path
from tests.toy_pair import toy_model
from tests.ui.conftest import PacedEngine
from tests.ui.served import served
from tests.ui.visit import PATIENCE
from ui.decodes import traces
from ui.host.allowed_models import AllowedModels
from ui.page import build_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real_recordings():
    """The recorded decodes of this checkout, also after a test that put the toy's in their place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "asset_path", asset_path)
        traces.open_recorded.cache_clear()
        yield
    traces.open_recorded.cache_clear()


@pytest.fixture(scope="module")
def engine():
    return PacedEngine(dsbd.load_pair(device="cpu", engine="eager"), allowed=AllowedModels("*"))


@pytest.fixture(scope="module")
def address(real_recordings, engine):
    with served(build_page(engine), engine) as address:
        yield address


def test_from_stories_to_sql_and_on_to_a_pair_of_one_s_own(visit, toy_folders, tmp_path):
    """Catches a choice that changes the form and not the run, and a failure that takes the page's pair away."""
    expect = pytest.importorskip("playwright.sync_api").expect
    page = visit.page
    page.locator(".drawer-switch").first.click()
    page.click("#models > button")
    page.get_by_label("Questions to SQL (bundled)").check()
    expect(page.locator("#prompt textarea")).to_have_value(re.compile("^Q:"), timeout=PATIENCE)
    assert page.get_by_role("button", name="Cities").count() == 1
    toy_model(1, 1).float().save_pretrained(tmp_path)  # without a tokenizer
    for target, words in (
        (str(tmp_path), "tokenizer.*goes on with the pair it had"),
        (toy_folders["target"], "Loaded"),
    ):
        page.locator("#own-target textarea, #own-target input").fill(target)
        page.locator("#own-draft textarea, #own-draft input").fill(toy_folders["draft"])
        page.click("#look")
        page.click("#load")
        visit.wait_for("#models-said", words)
        if words != "Loaded":
            assert page.get_by_label("Questions to SQL (bundled)").is_checked()
    page.get_by_label("Questions to SQL (bundled)").check()
    expect(page.locator("#prompt textarea")).to_have_value(re.compile("^Q:"), timeout=PATIENCE)
    page.click("#drawer .drawer-close")
    page.click("#run")
    expect(page.locator(".running-line")).to_contain_text("SELECT", timeout=PATIENCE)
    assert re.search(r"SQL:\s*SELECT", page.inner_text(".running-line"))
