"""The documentation: every public name has its place, every link leads somewhere, pictures stay light."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dsbd
import visualize
from dsbd.cli import parser
from dsbd.methods import READS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
FOLDERS = ("dsbd", "visualize", "ui", "tests", "training", "benchmarks")
CITATION = re.compile(r"docs/algorithm\.md((?:(?:, | and )\*[^*]+\*)+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.S | re.M)
PICTURE_BYTES = {
    "page.webp": 300_000,
    "lanes.gif": 300_000,
    "forest.svg": 100_000,
    "decode.svg": 100_000,
    "mark.svg": 5_000,
    **{f"{name}.webp": 50_000 for name in visualize.__all__ if name.endswith("_figure")},
}


def links(page: Path) -> list[str]:
    """Return the addresses of the links and pictures of a page, without code blocks and other sites."""
    found = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return [address for address in found if not address.startswith(("https://", "http://", "#"))]


@pytest.mark.parametrize("package", [dsbd, visualize], ids=lambda package: package.__name__)
def test_every_public_name_stands_on_one_page(package):
    """Catches a new public name without documentation, and one that is documented twice."""
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    documented = re.findall(rf"^::: {package.__name__}\.(\w+)$", text, re.M)
    assert sorted(documented) == sorted(package.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_of_a_site_page_stay_in_the_site(page):
    """Catches a link to a file that is gone, and one that leaves docs/: the site has nothing else."""
    for address in links(page):
        target = (page.parent / address.split("#")[0]).resolve()
        assert target.exists(), address
        assert target.is_relative_to(DOCS), address


@pytest.mark.parametrize("page", FRONT, ids=lambda page: page.name)
def test_links_of_a_front_page_lead_to_a_file(page):
    """Catches a page or a picture that moved."""
    assert [address for address in links(page) if not (ROOT / address.split("#")[0]).exists()] == []


def test_every_cited_heading_is_there():
    """Catches a docstring that sends the reader to a heading that was renamed or never written."""
    headings = re.findall(r"^#+ (.+)$", (DOCS / "algorithm.md").read_text(encoding="utf-8"), re.M)
    cited = []
    for file in (file for folder in FOLDERS for file in (ROOT / folder).rglob("*")):
        if file.suffix in (".py", ".js", ".json", ".md") and "node_modules" not in file.parts:
            text = re.sub(r"(\n\s*(\* )?|\\n)\s*", " ", file.read_text(encoding="utf-8"))  # without line breaks
            found = [heading for citation in CITATION.findall(text) for heading in re.findall(r"\*([^*]+)\*", citation)]
            cited += [(file.relative_to(ROOT).as_posix(), heading) for heading in found]
    assert len({file for file, _ in cited}) > 10, "the pattern finds the citations"
    assert [entry for entry in cited if entry[1] not in headings] == []


def test_every_page_is_in_the_menu():
    """Catches a page that no reader finds, and a menu line without a page."""
    menu = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(menu) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_pictures_stay_light():
    """Catches a screenshot that makes the README slow to open, and a picture that no page shows."""
    sizes = {path.name: path.stat().st_size for path in (DOCS / "images").iterdir()}
    assert sizes.keys() == PICTURE_BYTES.keys()
    assert [name for name, size in sizes.items() if size > PICTURE_BYTES[name]] == []


def test_the_pictures_are_those_of_the_recorded_decode():
    """Catches a picture that was not made again after the drawing changed."""
    trace = ROOT / "assets/traces/1-dynamic-width.json.gz"
    assert (DOCS / "images" / "forest.svg").read_text(encoding="utf-8") == visualize.forest_svg(trace)
    assert (DOCS / "images" / "decode.svg").read_text(encoding="utf-8") == visualize.decode_svg(trace)


def test_the_table_of_methods_is_what_they_read():
    """Catches a setting that a method reads and the table leaves out."""
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.M)
    table = {method: set(re.findall(r"`(\w+)`", fields)) for method, fields in rows}
    assert table == {method: set(fields) for method, fields in READS.items()}


def test_the_table_of_commands_is_what_there_is():
    """Catches a command without documentation."""
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([\w-]+)[^|]*` \|", text, re.M)
    assert sorted(documented) == sorted(parser()._subparsers._group_actions[0].choices)


@pytest.mark.parametrize(
    ("page", "passes"),
    [
        ('<script src="own.js"></script><a href="https://example.org">a link fetches nothing</a>', True),
        ('<link rel="stylesheet" href="//example.org/a.css">', False),
        ('<img src="missing.png">', False),
    ],
)
def test_the_check_of_the_site_sees_what_a_page_fetches(page, passes, tmp_path):
    """Catches a check that lets a font or a script of another address through."""
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    (tmp_path / "own.js").write_text("", encoding="utf-8")
    checked = subprocess.run([sys.executable, ROOT / ".ci/docs/check_site.py", tmp_path], capture_output=True)
    assert (checked.returncode == 0) is passes
