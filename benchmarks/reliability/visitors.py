"""Many visitors at once, each with a different prompt and seed; every second one leaves.

That a run ends within a forward once its visitor has left is tested in tests/ui/test_leaving.py.
"""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

import dsbd
from tests.toy_pair import toy_pair_on
from ui import Engine
from ui.host.limits import Limits

from .trials import served

PATIENCE_SECONDS = 300
LONG = {"method": "dsbd", "max_new_tokens": 40}
ASKED: dict[str, Any] = {
    "decode": lambda prompt: [prompt, LONG],
    "evaluate": lambda prompt: ["stories", ["dsbd:defaults"], 2, 1, None, {"max_new_tokens": 40}],
}
"""What visitors ask who do not stay: far more than they wait for."""


def many_clients(clients: int) -> dict[str, int]:
    """Visitors at once. Every second one stays; the others cancel or hang up, before their run or in it.

    Returns:
        How many stayed and how many left.

    Raises:
        AssertionError: an answer is not that of a run alone, or something runs or waits at the end.
    """
    prompts = [f"Visitor {place}" for place in range(clients)]
    alone = [dsbd.decode(toy_pair_on("eager"), prompt, _settings(place)) for place, prompt in enumerate(prompts)]
    with served(Engine(toy_pair_on("eager"), Limits(max_waiting=clients))) as address:
        with ThreadPoolExecutor(clients) as pool:
            answers = list(pool.map(lambda place: visit(address, place, prompts[place]), range(clients)))
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_idle(address):
            assert time.monotonic() < end, "runs go on for nobody"
            time.sleep(0.01)
    for prompt, answer, own in zip(prompts, answers, alone, strict=True):
        assert answer in (None, list(own.token_ids)), f"{prompt!r} got {answer}"
    left = answers.count(None)
    return {"stayed, each with the answer of a run alone": clients - left, "left": left}


def visit(address: str, place: int, prompt: str) -> list[int] | None:
    """Ask, and stay or leave. Returns: the ids of the answer; None for a visitor who left."""
    stays, name = place % 2 == 0, list(ASKED)[place // 2 % 2]
    if stays:
        call = ask(address, "decode", [prompt, {"max_new_tokens": 6, "seed": place}])
        news = httpx.get(f"{address}gradio_api/call/decode/{call}", timeout=PATIENCE_SECONDS)
        kind, data = news.text.strip().splitlines()[-2:]
        assert kind == "event: complete", f"{prompt!r} got {data}"
        ids: list[int] = json.loads(data.removeprefix("data: "))[0]["token_ids"]
        return ids
    call = ask(address, name, ASKED[name](prompt))
    with httpx.stream("GET", f"{address}gradio_api/call/{name}/{call}", timeout=PATIENCE_SECONDS):
        time.sleep(0.05 * (place % 5))
        if place % 8 < 4:
            body = {"event_id": call, "session_hash": call, "fn_index": 0}
            httpx.post(f"{address}gradio_api/cancel", json=body, timeout=PATIENCE_SECONDS).raise_for_status()
    return None


def ask(address: str, name: str, given: list[Any]) -> str:
    """Begin a call. Returns: its id."""
    answer = httpx.post(f"{address}gradio_api/call/{name}", json={"data": given}, timeout=PATIENCE_SECONDS)
    call: str = answer.raise_for_status().json()["event_id"]
    return call


def is_idle(address: str) -> bool:
    """Nothing runs or waits."""
    health = httpx.get(f"{address}health", timeout=PATIENCE_SECONDS).json()
    return (health["running"], health["waiting"]) == (0, 0)


def _settings(seed: int) -> dsbd.DecodingSettings:
    return dsbd.DecodingSettings(max_new_tokens=6, seed=seed)
