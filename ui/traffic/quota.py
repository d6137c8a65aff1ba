"""How much each address may upload in an hour."""

import time
from collections import deque
from typing import NamedTuple

from ..host.limits import Limits

HOUR = 3600.0
MAX_ADDRESSES = 10_000


class Refusal(NamedTuple):
    """Why an upload is refused, and in how many seconds it would be accepted; 0: never."""

    words: str
    seconds: float = 0.0


class UploadQuota:
    """Files and bytes that each address has uploaded in the last hour."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def refuse(self, address: str, size: int) -> Refusal | None:
        """Count an upload of ``size`` bytes, or refuse it."""
        now, files, room = time.monotonic(), self.limits.uploads_per_hour, self.limits.upload_bytes_per_hour
        if not files or not room:
            return Refusal("This page takes no uploads.")
        if size > room:
            return Refusal(f"The upload has {size:,} bytes; in an hour this page takes {room:,} from one address.")
        seen = self._seen.setdefault(address, deque())
        while seen and seen[0][0] < now - HOUR:
            seen.popleft()
        if len(seen) >= files:
            sent = "1 file" if len(seen) == 1 else f"{len(seen)} files"
            return _refused(f"{sent} in the last hour, which is as many", seen[0][0] + HOUR - now)
        if sum(bytes_ for _, bytes_ in seen) + size > room:
            return _refused("as much in the last hour", seen[0][0] + HOUR - now)
        seen.append((now, size))
        if len(self._seen) > MAX_ADDRESSES:
            self._seen = {one: sent for one, sent in self._seen.items() if sent and sent[-1][0] >= now - HOUR}
        return None


def _refused(how_much: str, seconds: float) -> Refusal:
    minutes = max(1, round(seconds / 60))
    when = "a minute" if minutes == 1 else f"{minutes} minutes"
    return Refusal(f"This address has uploaded {how_much} as this page takes. Come back in {when}.", seconds)
