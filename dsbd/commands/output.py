"""Exit codes of the subcommands, and their JSON output."""

import json
from typing import Any

OK, CHECK_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130


def print_json(value: Any) -> None:
    """Print one line of strict JSON."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))
