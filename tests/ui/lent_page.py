"""A page's engine behind the wrappers of Hugging Face's own ``spaces``; CUDA and the lender's service are stand-ins.

Run it in a separate process, because ``spaces`` changes torch and Gradio as it is imported:
``python -m tests.ui.lent_page``. It prints what each visitor got, as JSON.
"""

import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

os.environ |= {"SPACES_ZERO_GPU": "1", "SPACES_ZERO_DEVICE_API_URL": "http://127.0.0.1:9", "CUDA_VISIBLE_DEVICES": ""}


no_cuda = ModuleType("spaces.zero.torch")
"""Stands for the part of ``spaces`` that changes torch's CUDA; it cannot be imported where torch has none."""
for name in ("enter_mode", "init", "is_in_bad_fork", "move", "pack", "patch", "size", "unpatch"):
    setattr(no_cuda, name, lambda *_, **__: 0)
sys.modules[no_cuda.__name__] = no_cuda

import torch  # noqa: E402 - spaces reads the environment as it is imported
from spaces.zero import api, client  # noqa: E402

from dsbd.auto.measuring import known_plans  # noqa: E402
from dsbd.contest.contenders import Contender  # noqa: E402
from dsbd.errors import DsbdError  # noqa: E402
from dsbd.settings import DecodingSettings  # noqa: E402
from tests.toy_pair import toy_pair_on  # noqa: E402
from ui.engine import Engine  # noqa: E402
from ui.jobs import Job, race_of, recorded_decode  # noqa: E402
from ui.pairs.shelf import PAGE  # noqa: E402

SHORT = DecodingSettings(max_new_tokens=8, draft_depth=2, draft_width=3)
LONG = DecodingSettings(method="sampling", max_new_tokens=100)
AUTO = DecodingSettings(max_new_tokens=8, forest="auto", draft_depth="auto", draft_width="auto", cover_width="auto")


class Service:
    """Stands for the lender: gives the one GPU until its time is used up."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_empty = False

    def schedule(self, duration_seconds, **_):
        """Lend, or say how much time is left."""
        self.asked.append(duration_seconds)
        if self.is_empty:
            return api.QuotaInfos(left=3, wait=3600), api.ScheduleMetadata(auth="regular")
        loan = api.ScheduleResponse(idle=len(self.asked) > 1, nvidiaIndex=0, nvidiaUUID="none", allowToken="none")
        return loan, api.ScheduleMetadata(auth="regular")

    def allow(self, **_):
        return client.httpx.codes.OK

    release = allow


def loading(target: str, draft: str | None):
    """Load the toy pair under any name."""
    yield "loading"
    return toy_pair_on("eager")


def visit(engine: Engine, job: Job, stops: bool = False) -> list[str]:
    """What a visitor gets: what each step has last, or an error's class and sentence."""
    got: list[str] = []
    with engine.visitors.run("me", 200) as stop:
        try:
            for step in engine.run(job, stop):
                values = step._asdict() if isinstance(step, tuple) else vars(step)
                got.append([name for name, value in values.items() if value is not None][-1])
                if stops:
                    engine.visitors.stop("me")
        except DsbdError as error:
            got += [type(error).__name__, str(error)]
    return got


def main() -> None:
    """Make all visits; the wrappers, their processes and their pickles are those of ``spaces``."""
    service = Service()
    client.api_client = lambda: service
    client.utils.self_cgroup_device_path = lambda: "/"
    client._get_token_and_payload = lambda headers: ("token", {})
    engine = Engine(toy_pair_on("eager"), load=loading)
    here: list[int] = []
    engine.pair.target.model.register_forward_pre_hook(lambda *_: here.append(1))
    torch.set_num_threads(2)
    torch.rand(512, 512) @ torch.rand(512, 512)  # starts threads, of which a forked process has one
    found: dict[str, Any] = {}

    def note(name: str, what: Callable[[], Any]) -> None:
        before = len(service.asked)
        found[name] = what(), service.asked[before:]

    def decode(name: str, settings: DecodingSettings, prompt: str = "Once", pair: str = PAGE, **how) -> None:
        note(name, lambda: visit(engine, recorded_decode(engine.limits, prompt, settings, pair), **how))

    contenders = [Contender(one, one, DecodingSettings(method=one, max_new_tokens=8)) for one in ("greedy", "sampling")]
    decode("decode", SHORT)
    decode("error", DecodingSettings(max_new_tokens=64), prompt="x" * 100)
    decode("first auto", AUTO)
    decode("second auto", AUTO)
    decode("stopped", LONG, stops=True)
    engine.pairs.put("a + b", toy_pair_on("eager"))
    decode("pair that came later", SHORT, pair="a + b")
    note("race", lambda: visit(engine, race_of(engine.limits, ["Once"], contenders, 1)))
    service.is_empty = True
    decode("no time left", SHORT)
    print(json.dumps({**found, "forwards here": len(here), "plans": len(known_plans(engine.pair))}))


if __name__ == "__main__":
    main()
