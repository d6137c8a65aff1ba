"""Reading what the page is sent."""

import base64
import gzip
import json
from typing import Any


def unpacked(message: str) -> Any:
    """The bulk of a message again."""
    return json.loads(gzip.decompress(base64.b64decode(json.loads(message)["packed"])))
