"""The viewer's source files import one way, and joining them changes nothing. `npm run lint` finds undefined names."""

import json
import posixpath
import re
from importlib import resources
from pathlib import Path

import pytest

from visualize.viewer.bundle import ENTRY, imports_of, module, source
from visualize.words.words import known_languages

ROOT = resources.files("visualize")
REPOSITORY = Path(__file__).parents[3]
FILES = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "viewer").rglob("*.js"))
PURE = ("law", "scene", "steps", "layout", "tokens", "marks", "dom")
"""What needs no part of the page around."""


@pytest.mark.parametrize("name", PURE)
def test_what_needs_no_page_imports_none(name):
    """Catches a law, or a scene, that needs a part of the page."""
    for imported, _ in imports_of(f"viewer/{name}.js"):
        assert imported.endswith(".json") or posixpath.basename(imported).removesuffix(".js") in PURE


def test_every_file_is_reached():
    def reached(name: str) -> set[str]:
        return {name}.union(*(reached(imported) for imported, _ in imports_of(name)))

    assert {name for name in reached(ENTRY) if name.endswith(".js")} == set(FILES)


def test_the_twins_that_contributing_names_exist():
    """Catches a file that moves without its twin: readers then look for one half in vain."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    pairs = re.findall(r"^\| `(\S+\.js)` \| `(\S+\.py)` \|", text, re.M)
    assert len(pairs) >= 5
    for javascript, python in pairs:
        assert (ROOT / "viewer" / javascript).is_file(), javascript
        assert (REPOSITORY / python).is_file(), python


def test_joining_drops_comments_and_indentation_and_nothing_else():
    """A text over several lines would lose its indentation, and one that looks like a comment itself."""
    assert not re.search(r"^(?: |/\*)| // ", module(), re.M)
    for name in FILES:
        for line in source(name).split("\n"):
            assert line.count("`") % 2 == 0, (name, line)
            assert not re.search(r"[\"'`][^\"'`]* // [^\"'`]*[\"'`]", line), (name, line)


def test_the_module_carries_every_language_without_the_words_of_pages():
    for language in known_languages():
        words = json.loads(source(f"words/{language}.json"))
        carried = {key: text for key, text in words.items() if not key.startswith("page.")}
        assert 100 < len(carried) < len(words)
        table = json.dumps(carried, ensure_ascii=False, separators=(",", ":"))
        assert table in module()
