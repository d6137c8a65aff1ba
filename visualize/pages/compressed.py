"""Packs text for a page: gzip in base 64, which ``pages/unpack.js`` unpacks in the browser.

No character of base 64 means anything in HTML. So no token text can end the script element around it, or the attribute
that holds the page.
"""

import base64
import gzip
import json
from typing import Any


def packed(text: str) -> str:
    """Pack text; equal texts give equal results."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """Pack plain data as JSON; half of a surrogate pair is written as an escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed(text.encode("utf-8", "backslashreplace").decode("utf-8"))
