"""The table of known pairs in the documentation is that of the code."""

import re
from pathlib import Path

from dsbd.models.presets import preset_rows

PAGE = Path(__file__).resolve().parents[3] / "docs" / "models.md"


def table() -> str:
    head, *rows = preset_rows()
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def test_the_table_of_known_pairs_is_the_code_s():
    """Catches a pair, a size or a licence that was changed in one place."""
    found = re.search(r"<!-- presets -->\n(.*?)\n<!-- /presets -->", PAGE.read_text(encoding="utf-8"), re.S)
    assert found
    assert found[1] == table()
