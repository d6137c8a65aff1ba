"""A run ends within one forward when its visitor cancels, leaves or is cut off, and the next run begins only then."""

import socket
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest
from gradio_client import Client

from tests.ui.served import LONG, SlowPair, call, heard, wait_until

ACCEPT = {"accept": "application/json, text/event-stream"}
GIVEN = {
    "decode": ["Once upon", LONG],
    "evaluate": ["stories", ["sampling"], 2, 1, None, {"max_new_tokens": 60}],
}


@dataclass
class Site:
    """A page of slow models that is an MCP server too."""

    slow: SlowPair
    address: str

    def wait_for_run(self) -> None:
        """Wait until a run has had two forwards of the target."""
        before = self.slow.forwards
        wait_until(lambda: self.slow.forwards >= before + 2)

    def wait_for_calls(self, running: int, waiting: int) -> None:
        """Wait until this many calls run, and this many wait."""

        def are() -> bool:
            health = httpx.get(f"{self.address}/health", timeout=60).json()
            return (health["running"], health["waiting"]) == (running, waiting)

        wait_until(are)

    @contextmanager
    def ends(self):
        """What is done here ends the run within one forward, and leaves nothing behind."""
        yield
        forwards = self.slow.forwards
        self.wait_for_calls(0, 0)
        assert self.slow.forwards <= forwards + 1


@pytest.fixture
def site(mcp_site):
    site = Site(*mcp_site)
    site.slow.slow.set()
    yield site
    site.slow.slow.clear()
    site.wait_for_calls(0, 0)


def by_cancelling(site, name, event):
    body = {"event_id": event, "session_hash": event, "fn_index": 0}
    httpx.post(f"{site.address}/gradio_api/cancel", json=body, timeout=5).raise_for_status()


def by_hanging_up(site, name, event):
    with httpx.stream("GET", f"{site.address}/gradio_api/call/{name}/{event}", timeout=60):
        pass


def by_a_lost_line(site, name, event):
    host, port = site.address.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)))
    line.sendall(f"GET /gradio_api/call/{name}/{event} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert line.recv(1000)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # no good-bye, as a cut line
    line.close()


@pytest.mark.parametrize(
    ("name", "leave"),
    [
        ("decode", by_cancelling),
        ("decode", by_hanging_up),
        ("decode", by_a_lost_line),
    ],
)
def test_a_run_ends_within_one_forward(site, name, leave):
    event = call(site.address, name, *GIVEN[name])
    site.wait_for_run()
    with site.ends():
        leave(site, name, event)


def test_a_call_that_waits_ends_when_it_is_cancelled_or_left_and_no_other(site):
    """Catches a cancelled call that runs when its turn comes, and one that takes another run with it."""
    running = call(site.address, "decode", "Once upon", {"method": "sampling", "max_new_tokens": 8})
    site.wait_for_run()
    by_hanging_up(site, "evaluate", call(site.address, "evaluate", *GIVEN["evaluate"]))
    site.wait_for_calls(1, 0)
    waiting = call(site.address, "decode", "Once upon", LONG)
    by_cancelling(site, "decode", waiting)
    kind, said = heard(site.address, "decode", waiting)
    assert (kind, said["error"]) == ("error", "Stopped before it began.")
    with site.ends():
        assert heard(site.address, "decode", running)[0] == "complete"


def test_a_call_that_is_cancelled_before_it_has_a_name_ends(site):
    """Catches a client that is too quick: it cancels while the server still names the call."""
    client = Client(site.address, verbose=False)
    forwards, jobs = site.slow.forwards, [client.submit("Once upon", LONG, api_name="/decode") for _ in range(3)]
    for job in jobs:
        job.cancel()
    wait_until(lambda: all(job.done() for job in jobs))
    site.wait_for_calls(0, 0)
    assert site.slow.forwards < forwards + LONG["max_new_tokens"]


def asked_of_tool(site, number: int):
    """The request of a tool of the MCP server, by hand, so that it can be cut off."""
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
    body["params"] = {"name": "decode", "arguments": {"prompt": "Once upon", "settings": LONG}}
    return httpx.stream("POST", f"{site.address}/gradio_api/mcp/", json=body, headers=ACCEPT, timeout=60)


def test_a_tool_of_mcp_ends_when_its_caller_hangs_up_or_cancels(site):
    """Catches the run of a program that left, and one that ends with another caller's."""
    with asked_of_tool(site, 1):
        site.wait_for_run()
        with asked_of_tool(site, 2):
            site.wait_for_calls(1, 1)
        site.wait_for_calls(1, 0)
        left = site.slow.forwards
    site.wait_for_calls(0, 0)
    assert site.slow.forwards <= left + 1
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    with asked_of_tool(site, 7) as answer:
        site.wait_for_run()
        with site.ends():
            httpx.post(f"{site.address}/gradio_api/mcp/", json=told, headers=ACCEPT, timeout=60).raise_for_status()
        assert "Stopped." in answer.read().decode()


def test_a_decode_streams_and_ends_with_its_answer(site):
    """Catches an endpoint that says nothing until its end, and updates that are no beginning of the answer's kind."""
    client = Client(site.address, verbose=False)
    asked = ["Once upon", {"method": "sampling", "max_new_tokens": 6}]
    job = client.submit(*asked, api_name="/decode")
    *updates, answer = list(job)
    assert answer == job.result()
    assert answer["token_ids"] == client.predict(*asked, api_name="/decode")["token_ids"]
    assert set(answer) == {"text", "token_ids", "beams", "stats", "settings"}
    assert len(updates) >= 3
    for update in updates:
        assert set(update) == {"text", "token_ids", "iteration"}
        assert update["token_ids"] == answer["token_ids"][: len(update["token_ids"])]
        assert update["text"] == site.slow.pair.decode(update["token_ids"])
    assert [update["iteration"] for update in updates] == sorted({update["iteration"] for update in updates})
