"""Threads within a container's share of the machine."""

import pytest
import torch

from dsbd.models import threads
from dsbd.models.threads import cpu_quota, limit_threads


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({"cpu__max": "200000 100000\n"}, 2.0),
        ({"cpu__max": "max 100000\n"}, None),
        ({"cpu__max": "50000 100000\n"}, 0.5),
        ({"cpu__cfs_quota_us": "150000\n", "cpu__cfs_period_us": "100000\n"}, 1.5),
        ({"cpu__cfs_quota_us": "-1\n", "cpu__cfs_period_us": "100000\n"}, None),
        ({"cpu__max": "rubbish"}, None),
        ({}, None),
    ],
)
def test_a_quota_is_read(tmp_path, files, share):
    """Catches a quota of one of the two versions that is missed, and "no limit" that becomes a limit."""
    group(tmp_path, **files)
    assert cpu_quota(tmp_path, tmp_path / "none") == share


def test_the_tightest_group_above_counts(tmp_path):
    """Catches a limit set on a parent group, as orchestrators do, and paths that lead out of the tree."""
    group(tmp_path / "pod", cpu__max="300000 100000")
    group(tmp_path / "pod" / "box", cpu__max="max 100000")
    membership = tmp_path / "membership"
    membership.write_text("0::/../pod/box\n")
    assert cpu_quota(tmp_path, membership) == 3.0
    group(tmp_path / "cpu" / "old", cpu__cfs_quota_us="100000", cpu__cfs_period_us="100000")
    membership.write_text("4:memory:/elsewhere\n3:cpu,cpuacct:/old\nnonsense\n")
    assert cpu_quota(tmp_path, membership) == 1.0


def test_threads_follow_the_quota(monkeypatch):
    """Catches sixty-four threads on two cores' worth of time, and a user's own choice overridden."""
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
