"""The path of an accelerator: a GPU's ids, and a stand-in: tensors of the device ``meta``, which has shapes alone.

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
from dsbd.util import asset_path
from tests.toy_pair import Iterations, read_by_host, toy_pair

MODES = [
    ("eager", {}),
    ("eager", {"replacement": False, "cover_width": 4, "top_p": 0.9, "top_k": 30}),
    ("eager", {"temperature": 0.0, "replacement": False, "top_k": 0}),
    ("eager", {"method": "specinfer"}),
    ("eager", {"method": "mjsd"}),
    ("graph", {"min_width": 4, "max_width": 4, "draft_width": 8}),
    ("graph", {"method": "speculative"}),
]


def on_meta(pair: Pair, engine: str) -> Pair:
    models = (replace(one, model=deepcopy(one.model).to("meta"), engine=engine) for one in (pair.target, pair.draft))
    return Pair(*models, pair.tokenizer, pair.eos)


@pytest.mark.parametrize(("engine", "mode"), MODES, ids=str)
def test_an_iteration_copies_little_to_the_host(engine, mode, monkeypatch):
    """Catches a number read anywhere else, more than one copy a draft layer and one for the target, and more than top-k
    numbers a beam in one of them; with ``graph`` a capture per forward, too."""
    depth = {} if mode.get("method") == "specinfer" else {"draft_depth": 2}
    settings = dsbd.DecodingSettings(max_new_tokens=5, seed=3, **depth, **mode)
    left, copies, watch = [], [], Iterations()
    watch.on_iteration = lambda iteration: (copies.append(left[sum(map(len, copies)) :]), watch.seen.append(iteration))
    with monkeypatch.context() as patched:
        read_by_host(False, patched)
        patched.setattr(torch.Tensor, "cpu", lambda tensor: left.append(tensor) or tensor)
        on_cpu = dsbd.decode(toy_pair(), "One day", settings, observers=[watch])
    for iteration, copied in zip(watch.seen, copies, strict=True):
        assert len(copied) <= len(iteration.forest.layers) + 1
        nodes = len(list(iteration.forest.nodes()))
        most = settings.top_k or toy_pair().target.vocabulary_size
        assert max(tensor.numel() for tensor in copied) <= (len(iteration.input_beams) + nodes) * most + nodes
    assert len(watch.seen) > 1

    def handed(tensor):
        recorded = left.pop(0)
        assert tensor.device.type == "meta"
        assert tensor.shape == recorded.shape
        return recorded

    monkeypatch.setattr(torch.Tensor, "cpu", handed)
    captured, replays = [], []  # of CUDA graphs

    def capture(forward):
        captured.append(forward)
        return lambda: replays.append(forward) or forward()

    monkeypatch.setattr(graph, "cuda_graph", capture)
    result = dsbd.decode(on_meta(toy_pair(), engine), "One day", settings)
    assert (len(replays) > len(captured) > 0) == (engine == "graph")
    assert left == []
    assert result.beams == on_cpu.beams


ON_A_GPU = [
    {},
    {"temperature": 0.0},
    {"method": "beam_sampling"},
    {"replacement": False},
    {"cover_width": 8},
    {"min_width": 4, "max_width": 4, "draft_width": 12},
    {"min_width": 4, "max_width": 4, "forest": "sampled"},
    {"method": "speculative"},
    {"method": "specinfer"},
]
"""Settings whose ids are compared; a machine without a GPU rehearses the first three."""


@pytest.mark.slow
def test_ids_on_a_gpu_are_those_of_the_cpu(monkeypatch):
    """Catches ids that depend on the device; without a GPU, a mistake that only a machine with one would find."""
    rand, exponential, twins = torch.rand, torch.Tensor.exponential_, {}  # devices differ in what they draw

    def twin(generator):
        """Return a generator of the CPU with the same seed."""
        twins.setdefault(id(generator), (generator, torch.Generator().manual_seed(generator.initial_seed())))
        return twins[id(generator)][1]

    monkeypatch.setattr(
        torch,
        "rand",
        lambda *size, generator, device=None, **named: rand(*size, generator=twin(generator), **named).to(device),
    )
    monkeypatch.setattr(
        torch.Tensor,
        "exponential_",
        lambda noise, generator: noise.copy_(
            exponential(torch.empty_like(noise, device="cpu"), generator=twin(generator))
        ),
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    prompt = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()[0]
    pairs = [dsbd.load_pair(device=place, dtype="float64") for place in ("cpu", device)]
    for mode in ON_A_GPU if device == "cuda" else ON_A_GPU[:3]:
        settings = dsbd.DecodingSettings(max_new_tokens=48 if device == "cuda" else 5, seed=3, **mode)
        expected, found = (dsbd.decode(pair, prompt, settings).beams for pair in pairs)
        assert [beam.token_ids for beam in found] == [beam.token_ids for beam in expected], mode
