"""``load_pair``: names and options that are refused, and pairs that decode."""

import pytest
import torch

import dsbd
from dsbd.errors import PairError
from dsbd.machine import computes_bfloat16
from dsbd.models.load_options import resolve_dtype, resolve_engine
from dsbd.models.loading import load_pair

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"target": ""}, "target is ''; give a folder"),
        ({"target": "bundled:sql", "draft": object()}, "draft is of type object; .*make_pair"),
        ({"target": "bundled:poems"}, "no bundled pair 'bundled:poems'; choose one of bundled:stories, bundled:sql"),
        ({"target": "bundled:stories", "draft": "own"}, "brings its own draft model; leave draft 'own' out"),
        ({"draft": "own"}, "draft 'own' is given without a target"),
        ({"device": "cuda:99"}, "device 'cuda:99' .*use auto, cpu or cuda"),
        ({"device": "meta"}, "device 'meta' .*use auto, cpu or cuda"),
        ({"dtype": "float8"}, "dtype is 'float8'; choose .*bfloat16"),
        ({"device_map": "cuda:one"}, "device_map is 'cuda:one'; choose one of auto, balanced, .* such as cuda:0"),
        ({"engine": "warp"}, "engine is 'warp'"),
        ({"engine": "graph", "device": "cpu"}, "device is a CPU; use traced, fused"),
        ({"device": "cpu", "device_map": "auto"}, "device 'cpu' and device_map 'auto' both"),
        ({"load_kwargs": {"trust_" + "remote_code": True}}, "remote_code.*never run"),
        ({"load_kwargs": {"tp_plan": "auto"}}, "start the program with torchrun"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_loaded_is_refused_before_anything_is_read(named, said, monkeypatch):
    """Catches a name that is looked up on the hub, a draft that is silently replaced, a default in place of a typing
    error, a device that holds no numbers, and code of a model that is run by an argument."""
    monkeypatch.setattr("dsbd.models.loading._load", lambda *given: pytest.fail("it was read"))
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(PairError, match=said) as caught:
        load_pair(**named)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(("amx", "avx512"), [(False, False), (True, False), (False, True), (None, None)])
def test_auto_is_bfloat16_where_the_processor_multiplies_it(amx, avx512, monkeypatch):
    """Catches bfloat16 on a processor that imitates it, many times slower, float32 on one that computes it, and an
    error with a torch that has no such probe."""
    for probe, answer in (("_is_amx_tile_supported", amx), ("_is_avx512_bf16_supported", avx512)):
        if answer is None:
            monkeypatch.delattr(torch.cpu, probe, raising=False)
        else:
            monkeypatch.setattr(torch.cpu, probe, lambda answer=answer: answer, raising=False)
    native = bool(amx or avx512)
    assert computes_bfloat16() is native
    assert resolve_dtype("auto", CPU) == (torch.bfloat16 if native else torch.float32)
    assert resolve_dtype("auto", GPU) == torch.bfloat16
    assert resolve_dtype("bfloat16", CPU) == torch.bfloat16, "asked for by name"


@pytest.mark.parametrize(
    ("device", "zero_gpu", "engine"), [(CPU, "", "traced"), (GPU, "", "graph"), (GPU, "1", "eager")], ids=str
)
def test_auto_is_the_engine_of_the_device(device, zero_gpu, engine, monkeypatch):
    """Catches graphs captured on a processor, and on a GPU that is lent for seconds."""
    monkeypatch.setenv("SPACES_ZERO_GPU", zero_gpu)
    assert resolve_engine("auto", device) == engine
    assert resolve_engine("fused", device) == "fused"


def test_weights_too_large_for_memory(toy_folders, monkeypatch):
    """Catches an error of torch that escapes where a model does not fit the device, a wrong remedy, and a process that
    the system kills: the figure comes from the headers of the files."""

    def to(self, device):
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 80 GiB.")

    monkeypatch.setattr(torch.nn.Module, "to", to)
    with pytest.raises(PairError, match=r"cannot load .*OutOfMemoryError.*; memory ran out: choose a smaller model"):
        load_pair(toy_folders["target"])
    monkeypatch.setattr("dsbd.models.loading.free_bytes", lambda device: 1000)
    with pytest.raises(PairError, match=r"needs 0\.\d MB of memory .* float32, and 0\.0 MB are free on cpu"):
        load_pair(toy_folders["target"], dtype="float32")


def test_a_loaded_pair_decodes(toy_folders):
    """Catches a loader that gets dtype, device, EOS or the checks wrong."""
    pair = load_pair(toy_folders["target"], toy_folders["draft"], device="cpu", dtype="float32")
    assert pair.eos == frozenset([256])
    checks = {role: check.passed for role, check in pair.checks.items()}
    assert checks == dict.fromkeys(("target", "draft", "target traced", "draft fused"), True)
    assert (pair.target.dtype, pair.device) == (torch.float32, CPU)
    result = dsbd.decode(pair, "One day", dsbd.DecodingSettings(max_new_tokens=5, seed=2))
    assert 1 <= len(result.token_ids) <= 5
    assert result.text == pair.decode(result.token_ids)
    assert dsbd.decode(pair, "", dsbd.DecodingSettings(max_new_tokens=1)).token_ids  # empty becomes BOS
    with pytest.raises(dsbd.PromptError, match="exceeds the context of 128"):
        dsbd.decode(pair, "One day", dsbd.DecodingSettings(method="greedy", max_new_tokens=122))


@pytest.mark.parametrize(("installed", "dtype"), [(True, torch.float32), (False, torch.bfloat16)])
def test_a_small_model_is_in_float32_where_onnx_runtime_runs_it(monkeypatch, installed, dtype):
    """Catches a model in float32 that torch then runs, which is slower than bfloat16 on such a processor."""
    monkeypatch.setattr("dsbd.models.load_options.computes_bfloat16", lambda: True)
    monkeypatch.setattr("dsbd.models.loading.multiplies_tiles", lambda: False)
    if not installed:
        monkeypatch.setattr("dsbd.models.engines.onnx.find_spec", lambda name: None)
    assert load_pair("bundled:stories", device="cpu").target.dtype == dtype
