"""How much an address may upload, and what is said to it."""

import pytest

from ui.host.limits import Limits
from ui.traffic import quota
from ui.traffic.quota import HOUR, UploadQuota

MIB = 1024 * 1024


@pytest.fixture
def clock(monkeypatch):
    """Time that the test sets."""
    now = [1000.0]
    monkeypatch.setattr(quota.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("limits", [{"uploads_per_hour": 0}, {"upload_bytes_per_hour": 0}])
def test_a_page_without_uploads_says_so(limits):
    """Catches "has uploaded 0 files in the last hour"."""
    refusal = UploadQuota(Limits(**limits)).refuse("here", 10)
    assert refusal is not None
    assert refusal.words == "This page takes no uploads."
    assert refusal.seconds == 0


def test_files_are_counted_by_address_and_hour(clock):
    """Catches a quota that is shared, that never ends, or that counts what it refused."""
    uploads = UploadQuota(Limits(uploads_per_hour=1))
    assert uploads.refuse("here", 10) is None
    assert uploads.refuse("there", 10) is None
    clock[0] += HOUR / 2
    refusal = uploads.refuse("here", 10)
    assert refusal is not None
    assert refusal.words == (
        "This address has uploaded 1 file in the last hour, which is as many as this page takes. "
        "Come back in about 30 minutes."
    )
    assert refusal.seconds == HOUR / 2
    clock[0] += HOUR / 2 + 1
    assert uploads.refuse("here", 10) is None


def test_bytes_are_counted(clock):
    """Catches an upload that could never be taken, and is asked to come back."""
    uploads = UploadQuota(Limits(upload_bytes_per_hour=2 * MIB))
    never = uploads.refuse("here", 3 * MIB)
    assert never is not None
    assert never.words == "The upload has 3,145,728 bytes; in an hour this page takes 2,097,152 from one address."
    assert uploads.refuse("here", MIB) is None
    assert uploads.refuse("here", MIB) is None
    later = uploads.refuse("here", 1)
    assert later is not None
    assert later.words.startswith("This address has uploaded as much in the last hour as this page takes.")
    assert later.seconds == HOUR
