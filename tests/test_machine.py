"""The machine: its threads, and the numbers that its processor multiplies."""

import pytest
import torch

from dsbd import machine
from dsbd.machine import computes_bfloat16, cpu_quota, limit_threads, torch_threads
from dsbd.models.loading import resolve_dtype


def test_threads_follow_the_quota(monkeypatch, tmp_path):
    """Catches sixty-four threads on two cores' worth of time, "no limit" that is one, a user's choice overridden."""
    for said, share in ((None, None), ("200000 100000\n", 2.0), ("max 100000\n", None), ("rubbish", None)):
        assert said is None or (tmp_path / "cpu.max").write_text(said)
        assert cpu_quota(tmp_path) == share
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with torch_threads(6):
        for quota, left in ((None, 6), (8.0, 6), (2.5, 3), (0.2, 1)):
            monkeypatch.setattr(machine, "cpu_quota", lambda quota=quota: quota)
            assert limit_threads() == left
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    with torch_threads(6):
        assert limit_threads() == 6


@pytest.mark.parametrize(("amx", "avx512"), [(False, False), (True, False), (False, True), (None, None)])
def test_auto_is_bfloat16_where_the_processor_multiplies_it(amx, avx512, monkeypatch):
    """Catches bfloat16 on a processor that imitates it, many times slower, float32 on one that computes it, and an
    error with a torch that has no such probe."""
    for probe, answer in (("_is_amx_tile_supported", amx), ("_is_avx512_bf16_supported", avx512)):
        if answer is None:
            monkeypatch.delattr(torch.cpu, probe, raising=False)
        else:
            monkeypatch.setattr(torch.cpu, probe, lambda answer=answer: answer, raising=False)
    assert computes_bfloat16() is bool(amx or avx512)
    assert resolve_dtype("auto", torch.device("cpu")) == (torch.bfloat16 if amx or avx512 else torch.float32)
    assert resolve_dtype("auto", torch.device("cuda")) == torch.bfloat16
    assert resolve_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16, "asked for by name"
