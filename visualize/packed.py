"""Text packed for a page: gzip as base64, which no token text can break out of, unpacked by ``pages/host.js``."""

import base64
import gzip
import json
from typing import Any


def packed(text: str) -> str:
    """Text as base64 of its gzipped UTF-8; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """JSON-ready data, packed; half of a surrogate pair becomes its escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed(text.encode("utf-8", "backslashreplace").decode("utf-8"))
