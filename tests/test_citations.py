"""Docstrings and comments cite docs/algorithm.md by heading, and the headings are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("dsbd", "visualize", "ui", "tests", "training", "benchmarks")
SUFFIXES = (".py", ".js", ".json", ".md")
PAGE = "docs/algorithm.md"
HEADINGS = set(re.findall(r"^#+ (.+)$", (ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE))
CITATION = re.compile(re.escape(PAGE) + r"((?:(?:, | and )\*[^*]+\*)+)")


def _texts() -> dict[Path, str]:
    """Return the text of every source file, without line breaks and the stars of JavaScript comments."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES]
    inside = [file for file in files if "node_modules" not in file.parts]
    return {file: re.sub(r"(\n\s*(\* )?|\\n)\s*", " ", file.read_text(encoding="utf-8")) for file in inside}


def test_every_cited_heading_is_there() -> None:
    """Catches a docstring that sends the reader to a heading that was renamed or never written."""
    cited = [
        (file.relative_to(ROOT).as_posix(), heading)
        for file, text in _texts().items()
        for citation in CITATION.findall(text)
        for heading in re.findall(r"\*([^*]+)\*", citation)
    ]
    assert len({file for file, _ in cited}) > 10, "the pattern finds the citations"
    assert [entry for entry in cited if entry[1] not in HEADINGS] == []
