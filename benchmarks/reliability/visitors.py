"""Many visitors at once, each with a different prompt and seed; some cancel, leave or are cut off."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import httpx

import dsbd
from tests.toy_pair import toy_pair_on
from ui.engine import Engine
from ui.host.limits import Limits

from .trials import served

FORWARD_SECONDS = 0.02
PATIENCE_SECONDS = 300
TURNS = 2
"""Forwards of a run before it is left."""
LONG = {"method": "dsbd", "max_new_tokens": 40}
ASKED: dict[str, Callable[[str], list[Any]]] = {
    "decode": lambda prompt: [prompt, LONG],
    "evaluate": lambda prompt: ["stories", ["dsbd:defaults"], 2, 1, None, {"max_new_tokens": 40}],
}
"""What visitors ask who do not stay: far more than they wait for."""


class Watch:
    """Looks at an engine from outside: which call uses the models, and what it does after it was ended."""

    def __init__(self, engine: Engine) -> None:
        self.using: list[str] = []
        """The calls that use the models now."""
        self.most, self.began = 0, set[str]()
        self.forwards: Counter[str] = Counter()
        """By model."""
        self.ended_at: dict[str, Counter[str]] = {}
        """The forwards when a call was ended in the middle of its run, and when it had ended."""
        self.went_on: list[int] = []
        self._lent, self._cancel, self._visitors = engine._lent, engine.visitors.cancel, engine.visitors
        engine._lent, engine.visitors.cancel = self.lent, self.cancel  # type: ignore[method-assign]
        for name, model in (("target", engine.pair.target), ("draft", engine.pair.draft)):
            model.model.register_forward_pre_hook(lambda *_, name=name: self.forward(name))

    def forward(self, name: str) -> None:
        """A forward of a model begins."""
        self.forwards[name] += 1
        time.sleep(FORWARD_SECONDS)

    def lent(self, *given: Any) -> Iterator[Any]:
        """The work of a run."""
        call = next(one.call for one in self._visitors._held if one.signal == given[-1])
        self.using.append(call)
        self.began.add(call)
        self.most = max(self.most, len(self.using))
        try:
            yield from self._lent(*given)
        finally:
            self.using.remove(call)
            if call in self.ended_at:
                self.went_on += [self.forwards[name] - self.ended_at[call][name] for name in self.forwards]

    def cancel(self, call: str, session: str) -> None:
        """A call is ended."""
        self._cancel(call, session)
        if call in self.using:
            self.ended_at[call] = self.forwards.copy()


def many_clients(clients: int) -> dict[str, int]:
    """Visitors at once. Every second one stays; the others cancel, hang up or are cut off, in mid-run or before.

    Returns:
        How many stayed, left in the middle of a run, and left before it began; the most runs at once; and the most
        forwards of a model after a run was ended.

    Raises:
        AssertionError: an answer is not that of a run alone, two runs used the models at once, a run went on after its
            visitor had left, or something runs or waits at the end.
    """
    prompts = [f"Visitor {place}" for place in range(clients)]
    alone = [dsbd.decode(toy_pair_on("eager"), prompt, _settings(place)) for place, prompt in enumerate(prompts)]
    engine = Engine(toy_pair_on("eager"), Limits(max_waiting=clients))
    watch, left = Watch(engine), []
    with served(engine) as address, ThreadPoolExecutor(clients) as pool:
        page = Page(address, watch)
        ways = list(product((True, False), ASKED, (page.cancel, page.hang_up, page.cut_off)))

        def visit(place: int) -> None:
            if place % 2 == 0:
                answer = page.stay(prompts[place], {"max_new_tokens": 6, "seed": place})
                assert answer["token_ids"] == list(alone[place].token_ids), f"{prompts[place]!r} got {answer['text']!r}"
                return
            in_run, name, leave = ways[place // 2 % len(ways)]
            call = page.call(name, ASKED[name](prompts[place]))
            leave(name, call, in_run=in_run)
            left.append((name, call, in_run))

        list(pool.map(visit, range(clients)))
        page.wait_until(page.is_idle)
    unheard = [name for name, call, in_run in left if in_run and call not in watch.ended_at]
    assert not unheard, f"visitors left in the middle of {unheard}, and nothing was ended"
    assert watch.most <= 1, f"{watch.most} runs used the models at once"
    went_on = max(watch.went_on, default=0)
    assert went_on <= 1, f"a model had {went_on} forwards after a run was ended"
    return {
        "stayed, each with the answer of a run alone": clients - len(left),
        "left in mid-run": len(watch.ended_at),
        "left before it began": sum(call not in watch.began for _, call, _ in left),
        "most runs at once": watch.most,
        "most forwards of a model after a run was ended": went_on,
    }


def _settings(seed: int) -> dsbd.DecodingSettings:
    return dsbd.DecodingSettings(max_new_tokens=6, seed=seed)


class Page:
    """The page as programs without Python call it."""

    def __init__(self, address: str, watch: Watch) -> None:
        self.address, self.watch = f"{address}gradio_api", watch
        self._health = f"{address}health"

    def call(self, name: str, given: list[Any]) -> str:
        """Ask. Returns: the call."""
        answer = httpx.post(f"{self.address}/call/{name}", json={"data": given}, timeout=PATIENCE_SECONDS)
        call: str = answer.raise_for_status().json()["event_id"]
        return call

    def stay(self, prompt: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Decode and listen to the end. Returns: the answer."""
        news = httpx.get(self._news("decode", self.call("decode", [prompt, settings])), timeout=PATIENCE_SECONDS)
        kind, data = news.text.strip().splitlines()[-2:]
        assert kind == "event: complete", f"{prompt!r} got {data}"
        answer: dict[str, Any] = json.loads(data.removeprefix("data: "))[0]
        return answer

    def cancel(self, name: str, call: str, *, in_run: bool) -> None:
        """Cancel, and hear the end."""
        with httpx.stream("GET", self._news(name, call), timeout=PATIENCE_SECONDS) as news:
            self._wait(call, in_run=in_run)
            body = {"event_id": call, "session_hash": call, "fn_index": 0}
            httpx.post(f"{self.address}/cancel", json=body, timeout=PATIENCE_SECONDS).raise_for_status()
            assert "Stopped" in news.read().decode(), f"{name} was cancelled, and heard of no end"

    def hang_up(self, name: str, call: str, *, in_run: bool) -> None:
        """Listen, and close the connection."""
        with httpx.stream("GET", self._news(name, call), timeout=PATIENCE_SECONDS):
            self._wait(call, in_run=in_run)

    def cut_off(self, name: str, call: str, *, in_run: bool) -> None:
        """Listen, and lose the connection: no good-bye."""
        url = httpx.URL(self._news(name, call))
        line = socket.create_connection((url.host, url.port))
        line.sendall(f"GET {url.path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n\r\n".encode())
        self._wait(call, in_run=in_run)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        line.close()

    def is_idle(self) -> bool:
        """Nothing runs or waits."""
        health = httpx.get(self._health, timeout=PATIENCE_SECONDS).json()
        return (health["running"], health["waiting"]) == (0, 0)

    def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait. Raises: AssertionError: it did not come."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < end, "what was waited for did not come"
            time.sleep(FORWARD_SECONDS / 4)

    def _wait(self, call: str, *, in_run: bool) -> None:
        """Until the call has run for a while; else no longer than the server needs to hear who listens."""
        if not in_run:
            time.sleep(5 * FORWARD_SECONDS)
            return
        self.wait_until(lambda: call in self.watch.using)
        before = self.watch.forwards.total()
        self.wait_until(lambda: self.watch.forwards.total() >= before + TURNS)

    def _news(self, name: str, call: str) -> str:
        return f"{self.address}/call/{name}/{call}"
