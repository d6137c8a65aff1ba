"""Device, device map, dtype and engine by name."""

import pytest
import torch

from dsbd.errors import PairError
from dsbd.models.choices import computes_bfloat16, require_device_map, resolve_dtype, resolve_engine
from dsbd.models.loading import load_pair

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("amx", [False, True])
@pytest.mark.parametrize("avx512", [False, True])
def test_auto_is_bfloat16_where_the_processor_multiplies_it(amx, avx512, monkeypatch):
    """Catches bfloat16 on a processor that imitates it, many times slower, and float32 on one that computes it."""
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512, raising=False)
    native = amx or avx512
    assert computes_bfloat16() is native
    assert resolve_dtype("auto", CPU) == (torch.bfloat16 if native else torch.float32)
    assert resolve_dtype("auto", GPU) == torch.bfloat16
    assert resolve_dtype("bfloat16", CPU) == torch.bfloat16, "asked for by name"


def test_auto_is_float32_where_torch_cannot_say(monkeypatch):
    """Catches an AttributeError with a torch that has no such probes."""
    for probe in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.delattr(torch.cpu, probe, raising=False)
    assert resolve_dtype("auto", CPU) == torch.float32


@pytest.mark.parametrize(
    ("device", "zero_gpu", "engine"), [(CPU, "", "traced"), (GPU, "", "graph"), (GPU, "1", "eager")], ids=str
)
def test_auto_is_the_engine_of_the_device(device, zero_gpu, engine, monkeypatch):
    """Catches graphs captured on a processor, and on a GPU that is lent for seconds."""
    monkeypatch.setenv("SPACES_ZERO_GPU", zero_gpu)
    assert resolve_engine("auto", device) == engine
    assert resolve_engine("fused", device) == "fused"


@pytest.mark.parametrize("name", ["auto", "balanced", "balanced_low_0", "sequential", "cpu", "cuda:1"])
def test_a_device_map_is_a_way_or_a_device(name):
    require_device_map(name)


@pytest.mark.parametrize("name", ["scattered", "", "cuda:one"])
def test_an_unknown_device_map_is_refused_before_anything_is_loaded(name):
    """Catches advice about model names where the map is wrong."""
    with pytest.raises(PairError, match=f"device_map is '{name}'; choose one of auto, balanced, .* such as cuda:0"):
        load_pair("no/such-model", device_map=name)
