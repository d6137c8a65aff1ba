"""Text packed for a page: gzip in base 85, in letters that are inert in HTML, unpacked by ``pages/unpack.js``.

The alphabet is that of RFC 1924 with ``&``, ``<`` and ``>`` written ``,``, ``.`` and ``:``. So a packed text can stand
in a script element and, with its page, in an attribute: no token text breaks out, and nothing grows when escaped.
"""

import base64
import gzip
import json
from typing import Any

_INERT = bytes.maketrans(b"&<>", b",.:")


def packed(text: str) -> str:
    """Text as base 85 of its gzipped UTF-8, behind a digit that counts the padding; equal texts give equal results."""
    content = gzip.compress(text.encode("utf-8"), 9, mtime=0)
    letters = base64.b85encode(content, pad=True).translate(_INERT).decode("ascii")
    return f"{-len(content) % 4}{letters}"


def packed_json(data: Any) -> str:
    """JSON-ready data, packed; half of a surrogate pair becomes its escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed(text.encode("utf-8", "backslashreplace").decode("utf-8"))
