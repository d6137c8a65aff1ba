"""The viewer's source files are sound ES modules, and joining them changes nothing."""

import json
import re
import shutil
import subprocess
from importlib import resources

import pytest

from visualize.viewer.assets import viewer_assets
from visualize.viewer.bundle import ENTRY, imports_of, module, source
from visualize.words.words import known_languages

ROOT = resources.files("visualize")
FILES = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "viewer").rglob("*.js"))
NAMED = re.compile(r"^(?:export )?(?:const|let|function|class|async function) (\w+)|^const \{([^}]*)\}", re.M)


def top_level_names(name: str) -> list[str]:
    """What a source file names at its top level."""
    found = (match[1] or match[2] for match in NAMED.finditer(source(name)))
    return [part.strip() for names in found for part in names.split(",") if part.strip()]


def test_every_import_names_an_export_and_every_file_is_reached():
    """Joining drops the import lines: a misspelt name would then be found by nobody but a visitor."""
    reached, waiting = set(), [ENTRY]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for imported, names in imports_of(name):
            exported = re.findall(r"^export (?:const|function|class|async function) (\w+)", source(imported), re.M)
            assert imported.endswith(".json") or set(names) <= set(exported), (name, imported)
            if imported not in reached:
                waiting.append(imported)
    assert {name for name in reached if name.endswith(".js")} == set(FILES)


def test_every_imported_name_is_used_and_no_name_is_used_without_import():
    exported = {
        name: found
        for found in FILES
        for name in re.findall(r"^export (?:const|function|class) (\w+)", source(found), re.M)
    }
    for name in FILES:
        body = re.sub(r"^import [^;]*;|/\*.*?\*/|//.*$", "", source(name), flags=re.M)
        taken = {one for imported, names in imports_of(name) for one in names}
        for one in taken:
            assert re.search(rf"\b{one}\b", body), f"{name} imports {one} for nothing"
        for one, home in exported.items():
            if home != name and one not in taken and one not in top_level_names(name):
                assert not re.search(rf"(?<![\w.\"'`-]){one}\(", body) or re.search(rf"\b{one}\(.*\) \{{", body), (
                    name,
                    one,
                )


def test_no_two_files_name_anything_alike():
    """They share one scope when joined; a second function of a name would silently replace the first."""
    names = [name for found in FILES for name in top_level_names(found)]
    names += ["states", "sizes", *known_languages()]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


def test_joining_drops_comments_and_indentation_and_nothing_else():
    """A text over several lines would lose its indentation, and one that looks like a comment itself."""
    assert not re.search(r"^(?: |/\*)| // ", module(), re.M)
    for name in FILES:
        for line in source(name).split("\n"):
            assert line.count("`") % 2 == 0, (name, line)
            assert not re.search(r"[\"'`][^\"'`]* // [^\"'`]*[\"'`]", line), (name, line)


def test_a_page_may_carry_fewer_languages():
    small = viewer_assets(languages=["en"])["js"]
    for language in known_languages():
        words = json.loads(source(f"words/{language}.json"))
        carried = {key: text for key, text in words.items() if not key.startswith("page.")}
        assert 100 < len(carried) < len(words)
        table = json.dumps(carried, ensure_ascii=False, separators=(",", ":"))
        assert table in module()
        assert (table in small) == (language == "en")
    with pytest.raises(ValueError, match="no strings for language 'xx'; there are"):
        viewer_assets(languages=["xx"])


@pytest.mark.skipif(shutil.which("node") is None, reason="runs wherever node is installed")
def test_the_joined_module_parses(tmp_path):
    (tmp_path / "viewer.mjs").write_text(module(), encoding="utf-8")
    subprocess.run(["node", "--check", str(tmp_path / "viewer.mjs")], check=True, capture_output=True)
