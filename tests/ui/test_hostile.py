"""What strangers may send: some hundred malformed calls and uploads, then many visitors at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gradio_client import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings

import dsbd
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair
from tests.ui.hostile import Page, calls, uploads
from tests.ui.served import served
from ui import Engine, build_page
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE
from ui.play import shown
from ui.runs.around import KEEP

QUICK = hypothesis_settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],  # to make a call smaller takes minutes of calls: a fault would look like a page that hangs
)
SMALL = Limits(max_new_tokens=12, max_nodes=64, max_beam_tokens=64, max_evaluated_tokens=64, uploads_per_hour=100_000)
CLIENTS = 16


@pytest.fixture(scope="module")
def site(recorded):
    """The address of a page with small limits."""
    engine = Engine(toy_pair(), SMALL)
    with served(build_page(engine), engine) as address:
        yield address


@pytest.fixture(scope="module")
def stranger(site):
    """Calls the page, on a new connection each time."""
    return Page(site)


@pytest.mark.slow
@QUICK
@given(call=calls())
def test_no_call_is_answered_by_a_fault(stranger, call):
    """Catches a plain 500, an error without a sentence, a traceback, and a page that no longer answers."""
    stranger.send(call)


@pytest.mark.slow
@pytest.mark.usefixtures("reader")
@hypothesis_settings(QUICK, max_examples=40)
@given(content=uploads())
def test_no_upload_is_answered_by_a_fault(tmp_path_factory, content):
    """Catches a file that breaks the reader, or what is drawn of it."""
    path = Path(tmp_path_factory.mktemp("uploads")) / "mine.json.gz"
    path.write_bytes(content)
    frame = shown.bring_file(Engine(toy_pair(), SMALL), PAGE, str(path))
    if frame.problem:
        assert 'role="alert"' in frame.problem
        assert frame.recording is KEEP
    else:
        assert isinstance(frame.recording.trace, Trace)


@pytest.mark.slow
def test_many_visitors_get_their_own_answers(site):
    """Catches an answer that is lost, or given to another visitor."""
    address = site
    settings = [{"max_new_tokens": 6, "seed": seed} for seed in range(CLIENTS)]
    alone = [
        dsbd.decode(toy_pair(), f"Visitor {place}", dsbd.DecodingSettings(**one)) for place, one in enumerate(settings)
    ]

    def visit(place):
        return Client(address, verbose=False, httpx_kwargs={"timeout": 60}).predict(
            f"Visitor {place}", settings[place], api_name="/decode"
        )

    with ThreadPoolExecutor(12) as pool:  # no more at once than may wait
        answers = list(pool.map(visit, range(CLIENTS)))
    assert [answer["token_ids"] for answer in answers] == [list(result.token_ids) for result in alone]
