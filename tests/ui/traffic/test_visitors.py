"""Who has a slot, and how much an address may upload."""

import threading

from ui.host.limits import Limits
from ui.traffic.quota import HOUR, UploadQuota
from ui.traffic.visitors import SLOTS, Visitors

from ui.traffic import quota

MIB = 1024 * 1024


def test_a_slot_that_is_used_again_revives_no_earlier_run():
    """Catches a run in another process that outlives its slot and goes on when the next run takes that slot."""
    visitors = Visitors()
    with visitors.run("me", 100) as first:
        assert not first()
    with visitors.run("you", 100) as second:
        assert second.slot == first.slot
        assert (first(), second()) == (True, False)


def test_visitors_come_and_go_at_once():
    """Catches slots that are lost, or given to two runs, when many threads run and stop."""
    visitors, wrong = Visitors(), []

    def visit(name):
        for _ in range(50):
            with visitors.run(name, 100) as stop:
                before = stop()
                visitors.stop(name)
                if before or not stop():
                    wrong.append(name)

    threads = [threading.Thread(target=visit, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(visitors._free) == len(set(visitors._free)) == SLOTS


def test_uploads_are_counted_by_address_and_hour(monkeypatch):
    """Catches a quota that is shared, that never ends, that counts what it refused, and an upload that could never be
    accepted and is asked to come back."""
    now = [1000.0]
    monkeypatch.setattr(quota.time, "monotonic", lambda: now[0])
    for limits in ({"uploads_per_hour": 0}, {"upload_bytes_per_hour": 0}):
        assert UploadQuota(Limits(**limits)).refuse("here", 10) == ("This page takes no uploads.", 0)
    uploads = UploadQuota(Limits(uploads_per_hour=1))
    assert uploads.refuse("here", 10) is uploads.refuse("there", 10) is None
    now[0] += HOUR / 2
    later = uploads.refuse("here", 10)
    assert later.words.startswith("This address has uploaded 1 file in the last hour")
    assert later.seconds == HOUR / 2
    now[0] += HOUR / 2 + 1
    assert uploads.refuse("here", 10) is None
    uploads = UploadQuota(Limits(upload_bytes_per_hour=2 * MIB))
    assert uploads.refuse("here", 3 * MIB).words.startswith(
        "The upload has 3,145,728 bytes; in an hour this page takes"
    )
    assert uploads.refuse("here", MIB) is uploads.refuse("here", MIB) is None
    later = uploads.refuse("here", 1)
    assert later.words.startswith("This address has uploaded as much in the last hour as this page takes.")
    assert later.seconds == HOUR
