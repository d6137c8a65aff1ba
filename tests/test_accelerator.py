"""The path of an accelerator, on a stand-in: tensors of the device ``meta``, which has shapes and no numbers.

A run on the CPU is recorded: every array that an iteration brings to the host. The same run with both models on
``meta`` is handed these arrays. There, reading a number raises an error, and so does a tensor of the CPU among those of
the device. So a run that ends with the same ids reads from its device nowhere else.
"""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.models.engines import graph
from dsbd.models.pair import Pair
from tests.toy_pair import read_by_host, toy_pair

MODES = [
    ("eager", {}),
    ("eager", {"replacement": False, "cover_width": 4, "top_p": 0.9}),
    ("eager", {"temperature": 0.0, "replacement": False, "top_k": 0}),
    ("eager", {"method": "specinfer"}),
    ("eager", {"method": "mjsd"}),
    ("graph", {"forest": "likely", "draft_width": 8}),
]


class Generator:
    """Stands for a generator of the device ``meta``, which torch does not make."""

    device = torch.device("meta")

    def __init__(self, device):
        assert torch.device(device) == self.device

    def manual_seed(self, seed):
        return self


def without_generator(function):
    def call(*given, generator=None, **named):
        return function(*given, **named, **({} if isinstance(generator, Generator) else {"generator": generator}))

    return call


def let_meta_draw(monkeypatch) -> None:
    """Let ``meta`` draw; what is drawn has no value there."""
    monkeypatch.setattr(torch, "Generator", Generator)
    monkeypatch.setattr(torch, "rand", without_generator(torch.rand))
    monkeypatch.setattr(torch.Tensor, "exponential_", without_generator(torch.Tensor.exponential_))


def on_meta(pair: Pair, engine: str) -> Pair:
    models = (replace(one, model=deepcopy(one.model).to("meta"), engine=engine) for one in (pair.target, pair.draft))
    return Pair(*models, pair.tokenizer, pair.eos)


@pytest.mark.parametrize(("engine", "mode"), MODES, ids=str)
def test_an_iteration_copies_to_the_host_exactly_once(engine, mode, monkeypatch):
    """Catches a number read in the draft stage, a second copy, and tensors of two devices in one operation; with
    ``graph`` in the padding of a bucket, too."""
    settings = dsbd.DecodingSettings(max_new_tokens=5, draft_depth=2, seed=3, **mode)
    left = []
    with monkeypatch.context() as patched:
        read_by_host(False, patched)
        patched.setattr(torch.Tensor, "cpu", lambda tensor: left.append(tensor) or tensor)
        on_cpu = dsbd.decode(toy_pair(), "One day", settings)
    assert len(left) == on_cpu.stats.iterations > 1

    def handed(tensor):
        recorded = left.pop(0)
        assert tensor.device.type == "meta"
        assert tensor.shape == recorded.shape
        return recorded

    let_meta_draw(monkeypatch)
    monkeypatch.setattr(torch.Tensor, "cpu", handed)
    replays = []  # for a CUDA graph: what is recorded is run again
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: lambda: replays.append(forward) or forward())
    result = dsbd.decode(on_meta(toy_pair(), engine), "One day", settings)
    assert bool(replays) == (engine == "graph")
    assert left == []
    assert result.beams == on_cpu.beams
