"""The documentation: every public name has its place, links lead somewhere, tables are true, examples run."""

import json
import re
from pathlib import Path

import pytest

import dsbd
import visualize
from dsbd.cli import parser
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from visualize.page.limits import ELSEWHERE, Limits, setting
from visualize.pages.lesson import read_lesson

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
LINK, FENCE = re.compile(r"\]\(([^)\s]+)\)"), re.compile(r"^(`{3,}).*?^\1$", re.S | re.M)
TEACHING = (DOCS / "teaching.md").read_text(encoding="utf-8")
SOLUTIONS = (DOCS / "teaching-solutions.md").read_text(encoding="utf-8")
LESSONS = sorted(asset_path("lessons").glob("*.md"))


@pytest.mark.parametrize("package", [dsbd, visualize], ids=lambda package: package.__name__)
def test_every_public_name_stands_on_one_page(package):
    """Catches a new public name without documentation, and one that is documented twice."""
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    assert sorted(re.findall(rf"^::: {package.__name__}\.(\w+)$", text, re.M)) == sorted(package.__all__)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *FRONT], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_heading_or_a_file(page):
    """Catches a page, heading or picture that is gone, and a link of the site that leaves docs/."""
    for address in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if not address.startswith(("https://", "http://")):
            name, _, anchor = address.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), address
            assert page in FRONT or target.is_relative_to(DOCS), address
            assert not anchor or anchor in anchors(target), address


def test_pictures_stay_light_and_new():
    """Catches a screenshot that makes the README slow to open, and an old forest."""
    assert all(picture.stat().st_size < 300_000 for picture in (DOCS / "images").iterdir())
    trace = asset_path("traces/1-dynamic-width.json.gz")
    assert (DOCS / "images" / "forest.svg").read_text(encoding="utf-8") == visualize.forest_svg(trace)


def test_every_method_and_command_has_its_row():
    """Catches a method or a command without documentation."""
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "methods.md").read_text(encoding="utf-8"), re.M)
    assert {*rows} >= {*dsbd.METHODS}
    documented = re.findall(r"^\| `([\w-]+)[^|]*` \|", (DOCS / "commands.md").read_text(encoding="utf-8"), re.M)
    assert {*documented} >= {*parser()._subparsers._group_actions[0].choices}


def test_the_table_of_hosting_has_every_setting_with_its_default():
    """Catches a setting of the page that a host cannot find, one that is gone, and another default."""
    rows = re.findall(r"^\| `(DSBD_\w+)` \| .+? \| (.*?) ?\|$", (DOCS / "hosting.md").read_text(encoding="utf-8"), re.M)
    defaults = {setting(name): field.default for name, field in Limits.model_fields.items()}
    told = {name: f"{value:,}" if isinstance(value, int) else value for name, value in defaults.items()}
    assert sorted(name for name, _ in rows) == sorted([*told, *map(setting, ELSEWHERE)])
    assert {name: default for name, default in rows if name in told} == told


def test_exercises_and_solutions_follow_from_the_traces():
    """Catches a number that is not the trace's."""
    first, fourth = (Trace.load(read_lesson(LESSONS[at]).trace).to_dict()["iterations"] for at in (0, 3))
    for trial in first[1]["trials"]:
        (token,) = (node["text"].replace(" ", "␣") for node in first[1]["nodes"] if node["id"] == trial["node"])
        p, q, u = trial["residual_prob"], trial["draft_prob"], trial["uniform"]
        told = f"| {token} | {p:#.3g} | {q:#.3g} | {u:.3f} | "
        assert told in TEACHING
        assert f"{told}{p / q:.2f} | {trial['verdict']}" in SOLUTIONS
    won = [len(iteration["layers"]) for iteration in first]
    assert f"brought {', '.join(map(str, won[:-1]))} and {won[-1]} tokens" in TEACHING
    chances = fourth[2]["layers"][0]["accepted_distribution"]
    assert ", ".join(f"{sum(chances[k:]):.3f}" for k in range(1, len(chances))) in TEACHING


NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))
COURSE = ROOT / "examples" / "course"
FREE = r"(?:[^{}=~#:\\]|\\[{}=~#:])+"
GIFT = rf"::{FREE}::{FREE}{{(?:(?:\s*[=~]{FREE}#{FREE})+|T#{FREE}#{FREE}|#[\d.]+:[\d.]+####{FREE})}}"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_to_their_end_and_are_kept_without_outputs(path, tmp_path, monkeypatch):
    """Catches a cell that uses a name that no longer exists, and a saved run."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.slow
def test_the_assignment_is_marked(tmp_path, monkeypatch):
    """Catches a solution that its grader refuses, and points for nothing or for a layer drawn from P instead of P'."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    solution, marking = (COURSE / "solution.ipynb").read_text(encoding="utf-8"), {}
    exec(next("".join(cell["source"]) for cell in json.loads(solution)["cells"] if cell["id"] == "mark"), marking)
    (tmp_path / "wrong.ipynb").write_text(solution.replace("choices.draw(left)", "choices.draw(P)"), encoding="utf-8")
    papers = COURSE / "assignment.ipynb", COURSE / "solution.ipynb", tmp_path / "wrong.ipynb"
    assert [int(marking["mark"](paper, papers[0]).split()[0]) for paper in papers] == [0, 10, 6]


def test_the_course_kit_is_whole():
    """Catches a sign that Moodle takes for syntax, two right answers, and a frame of a page that is gone."""
    questions = re.findall(r"^::(?:.+\n)+", (COURSE / "quiz.gift").read_text(encoding="utf-8"), re.M)
    assert [question for question in questions if not re.fullmatch(GIFT, question.strip())] == []
    assert {len(re.findall("^  =", question, re.M)) for question in questions if "\n  ~" in question} == {1}
    traces = {f"forests/{path.name.removesuffix('.json.gz')}.html" for path in asset_path("lessons/traces").iterdir()}
    shown = "".join((COURSE / name).read_text(encoding="utf-8") for name in ("deck.html", "page.qmd"))
    assert {*re.findall(r"site/(\w+/[\w-]+\.html)", shown)} <= traces | {f"lessons/{one.stem}.html" for one in LESSONS}
