"""The page as Node renders it on the server (``DSBD_SSR=1``): it opens and runs as without Node."""

import shutil

import pytest

from ui.host.options import Host
from ui.page import build_page
from ui.serving import launch_options

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
]


@pytest.fixture(scope="module")
def address(engine, recorded):
    page = build_page(engine)
    options = launch_options(engine, Host(ssr=True))
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    yield address
    process = page.node_process
    page.close()
    if process is not None:
        process.terminate()


def test_the_page_opens_and_runs(visit, address):
    """Catches a part whose script waits for what only Gradio's own server sends."""
    answer = visit.page.request.get(address)
    assert "x-sveltekit-page" in answer.headers, "Node did not render this page"
    visit.set_field("max_new_tokens", "8")
    visit.run("Once upon")
    visit.wait_for("#note", "Decoded in")
    assert visit.page.inner_text(".running-line").startswith("Once upon")
