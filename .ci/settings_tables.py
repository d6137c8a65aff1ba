"""Makes what is told of the settings elsewhere from their table in dsbd/settings.py.

    PYTHONPATH=. python .ci/settings_tables.py

It writes the table of docs/api/settings.md, and visualize/live/settings.json for the decoder in the browser.
"""

import json
from pathlib import Path

from dsbd.settings import FIELDS, METHODS
from dsbd.util import write_file

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- settings -->\n", "<!-- end of settings -->\n"
LARGEST = 2**53 - 1
"""The largest whole number of JavaScript."""


def docs_table() -> str:
    """Return a row for each setting: what it is, its default, what is allowed, who reads it."""
    rows = ["| setting | what it is | default | allowed | read by |", "|---|---|---|---|---|"]
    for name, about in FIELDS.items():
        readers = "all" if about.methods == METHODS else ", ".join(about.methods)
        rows.append(f"| `{name}` | {about.help} | `{about.default}` | {about.allowed} | {readers} |")
    return "\n".join(rows) + "\n"


def browser_table() -> str:
    """Return the table as JSON, a setting a line."""
    rows = []
    for name, about in FIELDS.items():
        plain = {"label": about.label, "help": about.help, "kind": about.kind, "standard": about.default}
        plain |= {"methods": about.methods, "low": about.low, "high": min(about.high, LARGEST), "above": about.above}
        plain |= {"also": about.also, "choices": about.choices}
        rows.append(f"{json.dumps(name)}: {json.dumps(plain)}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def files() -> dict[Path, str]:
    """Return what each file should hold."""
    page = ROOT / "docs" / "api" / "settings.md"
    before, rest = page.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    table = ROOT / "visualize" / "live" / "settings.json"
    return {page: before + START + docs_table() + END + after, table: browser_table()}


if __name__ == "__main__":
    for path, text in files().items():
        write_file(path, text)
