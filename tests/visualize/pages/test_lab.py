"""The lab of a lesson: its decodes follow the law, its broken decoders are caught, and it needs no server."""

import json
from collections import Counter

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.errors import LessonError
from dsbd.util import asset_path
from tests.law.oracle import Process, Warp, Weighted
from tests.visualize.homes import visit
from visualize.pages.document import packed
from visualize.pages.lesson import read_tables
from visualize.pages.lesson_page import LAB, lab_script
from visualize.words.words import Words

TABLES = asset_path("lessons") / "three-words.json"
PAIR = json.loads(TABLES.read_text(encoding="utf-8"))
ZEROS = {"words": ["red", "blue"], "prompt": "red", "layers": 2,
         "target": {"": [0.0, 1.0], "0": [0.5, 0.5], "1": [0.25, 0.75]},
         "draft": {"": [0.5, 0.5], "0": [1.0, 0.0], "1": [1.0, 0.0]}}  # fmt: skip


class AsTables:
    """A model of the pair as the oracle reads it."""

    eos: frozenset[int] = frozenset()

    def __init__(self, pair: dict) -> None:
        def law(role: str):
            return lambda path: pair[role]["".join(map(str, path))]

        self.next_token = {"target": law("target"), "draft": law("draft")}


def oracle_law(pair: dict, width: int) -> dict[str, float]:
    """The law of the ends as the tests of the decoder add it up."""
    process = Process(AsTables(pair), [Weighted((), 0.0, 1)], Warp())
    found: Counter[str] = Counter()
    for (_, alive), prob in process.after((((), 1),), pair["layers"], width).items():
        slots = sorted("".join(map(str, path)) for path, count in alive for _ in range(count))
        found["+".join(slots)] += prob
    return dict(found)


def test_the_tables_are_those_of_the_lessons_trace_and_chart():
    """Catches a lab about another pair than the lesson's."""
    report = json.loads((asset_path("lessons") / "lossless.json").read_text(encoding="utf-8"))
    for model, law in report["next_word"].items():
        assert PAIR[model][""] == pytest.approx(law, abs=1e-9)
    law = oracle_law(PAIR, 2)
    assert len(law) == report["outcomes"]
    likeliest = sorted(law.values(), reverse=True)[: len(report["likeliest"])]
    assert [prob * report["runs"] for prob in likeliest] == pytest.approx(
        [row["expected"] for row in report["likeliest"]], rel=1e-9
    )
    first = visualize.forest_graph(asset_path("lessons") / "traces" / "5-three-words.json.gz").nodes.values()
    drafted = [node for node in first if node["column"] == 2 and node["kind"] == "drafted"]
    assert sorted(PAIR["target"]["1"])[-len(drafted) :] == pytest.approx(
        sorted(node["target_prob"] for node in drafted)
    )


def test_the_lab_is_small_and_says_what_it_needs():
    """Catches a page that grows, a word that is missing, and one that nobody reads."""
    code = lab_script()
    assert len(packed(code)) < 24_000  # as the page carries it: the decoder, and what both share with the viewer
    for key in (key.removeprefix(LAB) for key in Words("en").table if key.startswith(LAB)):
        assert f"words.{key}" in code or f'"{key}"' in code, key


@pytest.mark.parametrize(
    ("content", "named"),
    [
        *((content, "write words")
          for content in ("", "[1]", "{}", {"words": ["red"]}, {"layers": 9}, {"prompt": None})),
        ({"draft": {"": [0.5, 0.5, 0.0]}}, "draft after '0' is no law"),
        ({"target": {"": [0.5, 0.6, 0.0]}}, "target after '' is no law"),
        ({"target": []}, "write words"),
    ],
)  # fmt: skip
def test_tables_that_are_none_are_named(tmp_path, content, named):
    """Catches a traceback where a teacher has mistyped a number, or where the file is something else."""
    text = content if isinstance(content, str) else json.dumps(PAIR | content)
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match=rf"tables 't\.json': .*{named}"):
        read_tables(tmp_path / "t.json")
    with pytest.raises(LessonError, match=r"tables 'none\.json': No such file"):
        read_tables(tmp_path / "none.json")


@pytest.mark.slow
def test_the_button_decodes_in_the_browser(browser, tmp_path):
    """Catches a lab that does not start from a file, hides its verdict, or prints itself and not the recorded chart."""
    visualize.export_lesson(asset_path("lessons") / "5-lossless.md", tmp_path / "lesson.html")
    with visit(browser, tmp_path / "lesson.html", viewport={"width": 390, "height": 844}) as seen:
        page = seen.page
        page.wait_for_selector("html.live .lab-run", state="attached")
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
        while not page.is_visible(".lab-run"):
            page.click("button.next")
        assert not page.is_visible(".forest")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        said = "() => document.querySelector('.lab-said').textContent"
        for decoder, words in (("dsbd", "fit the exact law"), ("accept_all", "do not come from")):
            page.select_option(".lab-settings select >> nth=0", decoder)
            page.focus(".lab-run")
            page.keyboard.press("Enter")
            page.wait_for_selector(".lab-said:not(:empty)")
            assert "5,000 decodes: chi-square" in page.evaluate(said)
            assert words in page.evaluate(said)
        expect(page.locator(".lab-line")).to_have_count(2)
        page.click(".lab-tables summary")
        page.fill(".lab-tables input >> nth=0", "0")
        page.keyboard.press("Tab")
        assert page.evaluate(said) == ""
        assert page.input_value(".lab-tables input >> nth=1") == "0.947"
        page.emulate_media(media="print")
        assert not page.is_visible(".lab")
        assert page.is_visible(".lab-instead img")
        seen.quiet()
