"""The rooms of the viewer's JavaScript: imports go one way, and twins of Python files stand where they are said to."""

import posixpath
import re
from importlib import resources
from pathlib import Path

import pytest

from visualize.viewer.bundle import imports_of

REPOSITORY = Path(__file__).parents[3]
VIEWER = resources.files("visualize") / "viewer"
FILES = sorted(str(file.relative_to(VIEWER)) for file in VIEWER.rglob("*.js"))
ORDER = ["law", "base", "forest", "views", "page", ""]
"""A file may import from its own room and from those before it. The last holds viewer.js, diff.js and main.js."""


@pytest.mark.parametrize("name", FILES)
def test_imports_go_one_way(name):
    """Catches a law that needs a page, and two rooms that need each other."""
    room = posixpath.dirname(name)
    for imported, _ in imports_of(f"viewer/{name}"):
        other = posixpath.dirname(imported)
        if imported.endswith(".json"):
            assert other == "look" or name == "base/languages.js", imported
        else:
            assert ORDER.index(other.removeprefix("viewer").strip("/")) <= ORDER.index(room), imported


def test_the_law_imports_the_law_only():
    """Catches a second way into the law: it must run wherever a recorded iteration is, without page and sentences."""
    laws = [name for name in FILES if name.startswith("law/")]
    assert len(laws) >= 3
    for name in laws:
        assert {posixpath.dirname(imported) for imported, _ in imports_of(f"viewer/{name}")} <= {"viewer/law"}


def test_the_twins_that_contributing_names_exist():
    """Catches a file that moves without its twin: readers then look for one half in vain."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    pairs = re.findall(r"^\| `(\S+\.js)` \| `(\S+\.py)` \|", text, re.M)
    assert len(pairs) >= 5
    for javascript, python in pairs:
        assert (VIEWER / javascript).is_file(), javascript
        assert (REPOSITORY / python).is_file(), python
