"""The snippets and commands of docs/teaching.md work."""

import itertools
import re
import shlex
from pathlib import Path

import pytest

import visualize
from dsbd.assets import asset_path
from dsbd.tracing.trace import Trace
from tests.visualize.homes import visit
from visualize.pages.lesson import parse_lesson, read_lesson
from visualize.pages.lesson_page import stops_of

TEXT = (Path(__file__).parents[1] / "docs" / "teaching.md").read_text(encoding="utf-8")
BASE = "https://example.org/forests/"
PAGE = f"{BASE}forests/1-dynamic-width.html"
SNIPPETS = {
    name: content
    for name, _, content in re.findall(r"<!-- snippet: (\S+) -->\n(`{3,})\w+\n(.*?)^\2$", TEXT, re.S | re.M)
}


@pytest.mark.parametrize("kind", ["iframe", "jupyter", "quarto", "myst", "moodle", "wordpress"])
def test_snippets_are_those_that_are_tested(kind):
    """Catches a page that teaches an older snippet; tests/visualize/embed/test_snippets.py opens each."""
    assert visualize.embed_snippet(PAGE, kind) == SNIPPETS[kind]


def test_the_notebook_cell_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").mkdir()
    trace = asset_path("traces") / "5-speculative-sampling.json.gz"
    (tmp_path / "traces" / "fox.json.gz").write_bytes(trace.read_bytes())
    exec(SNIPPETS["jupyter-trace"])


@pytest.mark.slow
def test_the_slide_steps_a_site(browser, tmp_path):
    """Catches a script that the site does not have, and attributes that it does not read."""
    visualize.export_site(asset_path("traces"), tmp_path)
    slide = SNIPPETS["reveal"].replace(BASE, "")
    reveal = "globalThis.Reveal = {heard: {}, on(name, act) { this.heard[name] = act; }};"
    deck = f'<!doctype html><meta charset="utf-8"><script>{reveal}</script>'
    (tmp_path / "deck.html").write_text(deck + slide, encoding="utf-8")
    steps = visualize.scene(asset_path("traces") / "1-dynamic-width.json.gz").iterations[0].steps
    with visit(browser, tmp_path / "deck.html") as seen:
        (frame,) = seen.drawn()
        says = "text => document.querySelector('.dsbd-sentence').textContent === text"
        frame.wait_for_function(says, arg=steps[5].sentence)
        seen.page.evaluate(
            """() => { const fragment = document.querySelector(".dsbd-step"); fragment.classList.add("visible");
                       Reveal.heard.fragmentshown({fragment}); }"""
        )
        frame.wait_for_function(says, arg=steps[6].sentence)
        seen.quiet()


def test_the_lesson_is_complete():
    lesson = parse_lesson(SNIPPETS["lesson"], asset_path("lessons") / "mine.md")
    stops = stops_of(lesson, visualize.scene(lesson.trace))
    assert [(stop.step, stop.answer_step) for stop in stops][1] == (5, 6)
    assert [card.question is not None for card in lesson.cards] == [False, True]


def test_the_commands_are_accepted_in_the_order_of_the_page(tmp_path, monkeypatch):
    """Catches flags that do not exist, and a file in a folder that the page does not make first."""
    from dsbd.cli import parser

    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^(mkdir|python -m dsbd) (.+?)(?:\s+#.*)?$", TEXT, re.M)
    assert "python -m dsbd" in dict(found)
    for program, rest in found:
        words = shlex.split(rest)
        if program == "mkdir":
            Path(words[0]).mkdir()
        else:
            parser().parse_args(words)


SHIPPED = sorted(asset_path("lessons").glob("*.md"))
SOLUTIONS = (Path(__file__).parents[1] / "docs" / "teaching-solutions.md").read_text(encoding="utf-8")


def marked(name: str) -> str:
    """Return the block below a mark of the page."""
    return TEXT.partition(f"<!-- {name} -->\n")[2].partition("\n\n")[0]


def trace_of(number: int) -> dict:
    """Return the trace of a lesson."""
    (lesson,) = (read_lesson(path) for path in SHIPPED if path.stem.startswith(f"{number}-"))
    return Trace.load(lesson.trace).to_dict()


def test_the_plan_fills_45_minutes_with_cards_that_exist():
    """Catches a gap in the plan, and a lesson or card that it names and that is not there."""
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in marked("plan").splitlines()[2:]]
    times = [tuple(map(int, row[0].split("–"))) for row in rows]
    assert (times[0][0], times[-1][1]) == (0, 45)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(times))
    card_numbers = r"Lesson (\d), cards? (\d+)(?: to (\d+))?"
    named = [(int(at), int(card)) for row in rows for at, *cards in re.findall(card_numbers, row[1])
             for card in cards if card]  # fmt: skip
    assert len(named) > 10
    assert all(card <= read_lesson(SHIPPED[at - 1]).count for at, card in named)
    first = {at: min(card for other, card in named if other == at) for at, _ in named}
    tabs = [(line.split("-")[0], re.findall(r"card=(\d+)", line)) for line in marked("tabs").splitlines()[1:-1]]
    assert {int(at): int(*card or "1") for at, card in tabs} == first
    assert all((asset_path("lessons") / line.replace(".html", ".md").split("#")[0]).is_file()
               for line in marked("tabs").splitlines()[1:-1])  # fmt: skip


def test_the_exercises_quote_the_traces():
    """Catches a number of an exercise or a solution that does not follow from its trace."""
    first, third, fourth = trace_of(1)["iterations"], trace_of(3)["iterations"], trace_of(4)["iterations"]
    for trial in first[1]["trials"]:
        (token,) = (node["text"].replace(" ", "␣") for node in first[1]["nodes"] if node["id"] == trial["node"])
        p, q, u = trial["residual_prob"], trial["draft_prob"], trial["uniform"]
        told = f"| {token} | {p:#.3g} | {q:#.3g} | {u:.3f} | "
        assert told in TEXT
        ratio = f"{told}{p / q:.2f} | {trial['verdict']}"
        assert ratio in SOLUTIONS
    won = [len(iteration["layers"]) for iteration in first]
    assert f"brought {', '.join(map(str, won[:-1]))} and {won[-1]} tokens" in TEXT
    guessed = [sum(node["kind"] == "drafted" for node in iteration["nodes"]) for iteration in first]
    assert guessed == [4, 4, 4, 4, 4, 0]
    assert sum(won) == 2 * (len(won) + sum(guessed) * 0.1)
    words = [(pair["target_prob"], pair["draft_prob"]) for pair in first[0]["layers"][0]["alternatives"]]
    words.append((1 - sum(p for p, _ in words), 1 - sum(q for _, q in words)))
    kept = [min(pair) for pair in words]
    assert f"{' + '.join(f'{one:.4f}' for one in kept)} = {sum(kept):.4f}" in SOLUTIONS
    had = (words[3][0] - words[3][1]) / (1 - sum(kept))
    assert f"{words[3][0] - words[3][1]:.4f} / {1 - sum(kept):.4f} = {had:.2f}" in SOLUTIONS
    assert f"then {first[0]['layers'][0]['acceptance_chain'][0]:.3f} is kept" in SOLUTIONS
    chances = fourth[2]["layers"][0]["accepted_distribution"]
    reached = [sum(chances[k:]) for k in range(1, len(chances))]
    assert ", ".join(f"{one:.3f}" for one in reached) in TEXT
    widths = [max([k for k, one in enumerate(reached, 1) if one >= at], default=1) for at in (0.6, 0.85, 0.99)]
    assert widths == [5, 2, 1]
    account = SOLUTIONS.partition("**The account.**")[2].splitlines()
    for trial in (one for one in third[1]["trials"] if one["layer"] == 1):
        row = next(line for line in account if f"| {trial['uniform']:.3f} |" in line)
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        known = [trial["c"], trial["S"], trial["residual_prob"], trial["residual_prob"] / trial["draft_prob"]]
        assert [float(cell) for cell in cells[:4]] == pytest.approx(known, abs=5e-3)
        assert cells[5].startswith(trial["verdict"])


def test_no_answer_stands_beside_the_exercises():
    """Catches a solution on the page that the class may read, and an exercise without one."""
    given = TEXT.partition("## Exercises\n")[2].partition("\n## ")[0]
    bold = re.findall(r"^(\d\. \*\*.+?\.\*\*|\d\. \*\*[^*]+\*\*)", given, re.M)
    assert len(bold) == 7
    assert all(one in SOLUTIONS for one in bold)
    assert "accepted |" not in given
    assert "165" not in given


def test_every_lesson_has_its_hand_outs():
    names = re.findall(r'href="handouts/([^"]+)\.pdf"', marked("hand-outs"))
    assert sorted(names) == sorted(name for path in SHIPPED for name in (path.stem, f"{path.stem}-teacher"))
