"""Threads within a container's share of the machine."""

import pytest
import torch

import dsbd
from dsbd import decoder
from dsbd.law.verify import verify
from dsbd.models import language_model, threads
from dsbd.models.threads import SMALL, cpu_quota, limit_threads
from tests.toy_pair import toy_pair_on

OLD = {"cpu/pod/cpu.cfs_quota_us": "150000\n", "cpu/pod/cpu.cfs_period_us": "100000\n"}
MEMBER = "4:memory:/elsewhere\n3:cpu,cpuacct:/pod\nnonsense\n0::/../pod/box\n"


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({"cpu.max": "200000 100000\n"}, 2.0),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n"}, 1.5),
        ({"cpu.max": "rubbish"}, None),
        ({"member": MEMBER, "pod/cpu.max": "300000 100000", "pod/box/cpu.max": "max 100000"}, 3.0),
        ({"member": MEMBER, "pod/cpu.max": "300000 100000", **OLD}, 1.5),
    ],
    ids=str,
)
def test_a_quota_is_read(tmp_path, files, share):
    """Catches a quota of one of the two versions that is missed, "no limit" that becomes a limit, a limit on a parent
    group, as orchestrators set it, and paths that lead out of the tree."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_quota(tmp_path, tmp_path / "member") == share


def test_threads_follow_the_quota(monkeypatch):
    """Catches sixty-four threads on two cores' worth of time, and a user's choice overridden."""
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    try:
        torch.set_num_threads(6)
        for quota, left in ((None, 6), (8.0, 6), (2.5, 3), (0.2, 1)):
            monkeypatch.setattr(threads, "cpu_quota", lambda quota=quota: quota)
            assert limit_threads() == left
        torch.set_num_threads(6)
        monkeypatch.setenv("OMP_NUM_THREADS", "6")
        assert limit_threads() == 6
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("small", "forwards"), [(0, 3), (SMALL, 1)], ids=["large", "small"])
def test_forwards_take_all_threads_and_the_rest_one(monkeypatch, small, forwards):
    """Catches operations on small tensors that wait for each other's threads, a large model on one thread, and a
    program that is left with one thread while it reads the stream."""
    monkeypatch.setattr(language_model, "SMALL", small)
    pair, before, seen = toy_pair_on("eager"), torch.get_num_threads(), {"forward": set(), "between": set()}
    for model in (pair.target, pair.draft):
        model.model.register_forward_pre_hook(lambda *_: seen["forward"].add(torch.get_num_threads()))
    monkeypatch.setattr(
        decoder, "verify", lambda *given: seen["between"].add(torch.get_num_threads()) or verify(*given)
    )
    try:
        for model in (pair.target, pair.draft):
            model.new_cache()  # its shapes are found by a forward, once
        seen["forward"].clear()
        torch.set_num_threads(3)
        for _ in dsbd.stream(pair, "Once", dsbd.DecodingSettings(max_new_tokens=4)):
            assert torch.get_num_threads() == 3
        assert seen == {"forward": {forwards}, "between": {1}}
    finally:
        torch.set_num_threads(before)
