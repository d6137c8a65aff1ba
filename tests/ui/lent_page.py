"""A page's engine behind the wrappers of Hugging Face's own ``spaces``; CUDA and the lender's service are stand-ins.

Run in a process of its own, because ``spaces`` changes torch and Gradio as it is imported:
``python -m tests.ui.lent_page``.
Prints what each visitor got, as JSON.
"""

import json
import os
import sys
from types import ModuleType

os.environ |= {"SPACES_ZERO_GPU": "1", "SPACES_ZERO_DEVICE_API_URL": "http://127.0.0.1:9", "CUDA_VISIBLE_DEVICES": ""}


no_cuda = ModuleType("spaces.zero.torch")
"""Stands for the part of ``spaces`` that changes torch's CUDA; it cannot be imported where torch has none."""
for name in ("enter_mode", "init", "is_in_bad_fork", "move", "pack", "patch", "size", "unpatch"):
    setattr(no_cuda, name, lambda *_, **__: 0)
sys.modules[no_cuda.__name__] = no_cuda

import spaces  # noqa: E402 - it reads the environment as it is imported
from spaces.zero import api, client  # noqa: E402

from dsbd.auto.measuring import known_plans  # noqa: E402
from dsbd.auto.plan import PlanProgress  # noqa: E402
from dsbd.errors import DsbdError  # noqa: E402
from dsbd.settings import DecodingSettings  # noqa: E402
from dsbd.tracing.trace import Trace  # noqa: E402
from tests.toy_pair import toy_pair_on  # noqa: E402
from ui.engine import Engine  # noqa: E402
from ui.jobs import recorded_decode  # noqa: E402

AUTO = {"max_new_tokens": 8, "forest": "auto", "draft_depth": "auto", "draft_width": "auto", "cover_width": "auto"}


class Service:
    """Stands for the lender: gives the one GPU until its time is used up."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_empty = False

    def schedule(self, duration_seconds, **_):
        """A loan, or how much time is left."""
        self.asked.append(duration_seconds)
        if self.is_empty:
            return api.QuotaInfos(left=3, wait=3600), api.ScheduleMetadata(auth="regular")
        loan = api.ScheduleResponse(idle=len(self.asked) > 1, nvidiaIndex=0, nvidiaUUID="none", allowToken="none")
        return loan, api.ScheduleMetadata(auth="regular")

    def allow(self, **_):
        """The process may use the GPU."""
        return client.httpx.codes.OK

    def release(self, **_):
        """The GPU is given back."""
        return client.httpx.codes.OK


def stand_in(service: Service) -> None:
    """Put the stand-ins in place; the wrappers, their processes and their pickles stay those of ``spaces``."""
    client.api_client = lambda: service
    client.utils.self_cgroup_device_path = lambda: "/"
    client._get_token_and_payload = lambda headers: ("token", {})


def visit(engine: Engine, prompt: str, **settings) -> list:
    """What a visitor gets: the names of the events' types, or an error's class and sentence."""
    got: list[str] = []
    with engine.visitors.run("me", 200) as stop:
        try:
            for event in engine.run(recorded_decode(engine.limits, prompt, DecodingSettings(**settings)), stop):
                got.append(type(event).__name__)
                if settings.get("method") == "sampling":
                    engine.visitors.stop("me")
        except DsbdError as error:
            got += [type(error).__name__, str(error)]
    return got


def main() -> None:
    """All visits, one after the other."""
    service = Service()
    stand_in(service)
    assert spaces.config.Config.zero_gpu
    engine = Engine(toy_pair_on("eager"))
    found = {
        "decode": visit(engine, "Once", max_new_tokens=8),
        "error": visit(engine, "x" * 100, max_new_tokens=64),
        "first auto": visit(engine, "Once", **AUTO),
        "second auto": visit(engine, "Once", **AUTO),
        "stopped": visit(engine, "Once", method="sampling", max_new_tokens=100),
        "plans": len(known_plans(engine.pair)),
    }
    service.is_empty = True
    found["no time left"] = visit(engine, "Once", max_new_tokens=8)
    kinds = [PlanProgress.__name__, Trace.__name__]
    print(json.dumps({**found, "asked": service.asked, "kinds": kinds}))


if __name__ == "__main__":
    main()
