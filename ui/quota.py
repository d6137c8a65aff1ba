"""How much each address may upload in an hour."""

import time
from collections import deque

from .limits import Limits

HOUR = 3600.0
MAX_ADDRESSES = 10_000


class UploadQuota:
    """Files and bytes that each address has uploaded in the last hour."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def refuse(self, address: str, size: int) -> str | None:
        """Count an upload of so many bytes. Returns: why it is refused, or None."""
        now = time.monotonic()
        seen = self._seen.setdefault(address, deque())
        while seen and seen[0][0] < now - HOUR:
            seen.popleft()
        if len(seen) >= self.limits.uploads_per_hour:
            return f"This address has uploaded {len(seen)} files in the last hour, which is as many as this page takes."
        if sum(bytes_ for _, bytes_ in seen) + size > self.limits.upload_bytes_per_hour:
            return "This address has uploaded as much in the last hour as this page takes."
        seen.append((now, size))
        self._forget(now)
        return None

    def _forget(self, now: float) -> None:
        if len(self._seen) > MAX_ADDRESSES:
            self._seen = {one: seen for one, seen in self._seen.items() if seen and seen[-1][0] >= now - HOUR}
