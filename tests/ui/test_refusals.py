"""What could not be sent is said in the page, each time, and until the next action."""

import pytest
from playwright.sync_api import expect
from ui.host.limits import Limits
from ui.page import build_page

from tests.toy_pair import toy_pair
from tests.ui.conftest import PacedEngine
from tests.ui.served import served
from tests.ui.visit import Visit
from tests.visualize.toy import toy_trace

pytestmark = pytest.mark.slow

MANY = "as many as this page takes"


@pytest.fixture(scope="module")
def engine():
    return PacedEngine(toy_pair(), Limits(max_waiting=1, uploads_per_hour=1, max_prompt_characters=4000))


@pytest.fixture(scope="module")
def address(engine, recorded):
    with served(build_page(engine), engine) as address:
        yield address


def toasts(visit: Visit) -> int:
    return visit.page.locator(".toast-body:visible").count()


def upload(visit: Visit, path) -> None:
    with visit.page.expect_response(lambda answer: "/upload" in answer.url):
        visit.page.locator("input[type=file]").first.set_input_files(path)


def test_every_refused_upload_is_said_until_the_next_action(visit, tmp_path):
    """Catches words in a toast that joins an earlier one and goes with it."""
    files = [tmp_path / f"{place}.json.gz" for place in range(4)]
    for file in files:
        toy_trace().save(file)
    visit.set_field("max_new_tokens", "12")
    upload(visit, files[0])
    visit.wait_for("#note", "Your trace")
    for file in files[1:3]:
        upload(visit, file)
        visit.wait_for("#problem [role=alert]", MANY)
        assert toasts(visit) == 0
        visit.open_share()
        visit.page.click("#document")
        visit.page.wait_for_timeout(500)
    assert MANY in visit.page.inner_text("#problem")
    visit.run("Once upon")
    visit.wait_for("#note", "Decoded just now")
    expect(visit.page.locator("#problem")).to_have_text("")
    upload(visit, files[3])
    visit.wait_for("#problem [role=alert]", MANY)


def test_a_full_queue_is_said_once(visits, engine):
    """Catches Gradio's own words beside the page's, none where it is no run that is refused, and no other way out."""
    running, waiting, refused = visits(), visits(), visits()
    engine.hold(at=2)
    running.run("Once upon")
    running.wait_for("#note", r"pass \d")
    waiting.run("Once upon")
    waiting.wait_for("#note", "queue: 1/1")
    refused.open_share()
    refused.page.click("#download")
    refused.wait_for("#problem [role=alert]", "^The queue is full: too many")
    said = refused.page.locator("#live [role=status]")
    said.evaluate("(element) => { element.textContent = ''; }")
    refused.run("Once upon")
    refused.wait_for("#problem [role=alert]", "^The queue is full: too many")
    expect(said).to_contain_text("Your own browser can decode it")
    assert toasts(refused) == 0
    expect(refused.page.locator("#problem [role=alert]")).to_have_count(1)
    refused.page.wait_for_selector("#run")
    refused.page.evaluate("document.dispatchEvent(new Event('dsbd-live-begins'))")
    expect(refused.page.locator("#problem")).to_have_text("")


def test_a_prompt_that_is_too_long_is_said_and_not_cut(visit):
    """Catches a text box that takes a part of what was pasted, and a large call that is said to meet a full queue."""
    for characters, words in ((6_800, "Prompt has 6,800 characters; this page takes 4,000"), (1_100_000, "1,048,576")):
        visit.page.fill("#prompt textarea", "x" * characters)
        assert len(visit.page.input_value("#prompt textarea")) == characters
        visit.page.click("#run")
        visit.wait_for("#problem [role=alert]", words)
        assert toasts(visit) == 0
        visit.page.wait_for_selector("#run")
