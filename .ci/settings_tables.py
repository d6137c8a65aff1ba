"""Makes what is told of the settings elsewhere from their table in dsbd/settings.py.

    PYTHONPATH=. python .ci/settings_tables.py

It writes the table of docs/api/settings.md, and visualize/live/settings.json for the decoder in the browser.
"""

import json
from pathlib import Path

from dsbd.methods import resolve
from dsbd.settings import FIELDS, METHODS, DecodingSettings
from dsbd.util import write_file
from visualize.pages.live import LARGEST
from visualize.pages.live import METHODS as BROWSER_METHODS

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- settings -->\n", "<!-- end of settings -->\n"


def docs_table() -> str:
    """Return a row for each setting: what it is, its default, what is allowed, who reads it."""
    rows = ["| setting | what it is | default | allowed | read by |", "|---|---|---|---|---|"]
    for name, about in FIELDS.items():
        readers = "all" if about.methods == METHODS else ", ".join(about.methods)
        rows.append(f"| `{name}` | {about.help} | `{about.default}` | {about.allowed} | {readers} |")
    return "\n".join(rows) + "\n"


def browser_table() -> str:
    """Return the table as JSON, a setting a line, with the values that methods of the browser imply."""
    resolved = {method: resolve(DecodingSettings(method=method)) for method in BROWSER_METHODS}
    rows = []
    for name, about in FIELDS.items():
        plain = {"label": about.label, "help": about.help, "kind": about.kind, "standard": about.default}
        plain |= {"methods": about.methods, "low": about.low, "high": min(about.high, LARGEST), "above": about.above}
        plain |= {"also": about.also, "choices": about.choices}
        unread = [method for method in resolved if method not in about.methods]
        plain["implied"] = {method: getattr(resolved[method], name) for method in unread}
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
