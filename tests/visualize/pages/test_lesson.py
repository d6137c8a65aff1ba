"""Lessons: what a teacher writes, the errors that help, hidden verdicts, teacher mode, and the hand-out."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.command_line import refused
from tests.visualize.homes import hostile_marks, visit
from tests.visualize.nasty import NASTY, nasty_trace
from tests.visualize.toy import toy_trace
from visualize.forest import steps_of
from visualize.pages.lesson import Block, CardQuestion, Position, markdown, parse_lesson, read_lesson, step_of
from visualize.pages.lesson_page import printed_steps, stops_of

TRACE = toy_trace()
SHIPPED = sorted(asset_path("lessons").glob("*.md"))
TRIED = TRACE.iterations[0].trials[0].node
VERDICT = step_of(TRACE, Position(0, 1, TRIED))
LAST = len(steps_of(TRACE.iterations[0], TRACE.settings)) - 1
HEAD = "---\ntitle: T\ntrace: t.json\n---\n"
SCREEN = {"width": 1280, "height": 720}
LEAST = 19.9
"""Pixels of the smallest type on a slide."""
SMALL = """least => [...document.querySelectorAll(".lesson *")].filter((one) => !one.closest("svg, .dsbd-scroller")
  && one.checkVisibility({visibilityProperty: true})
  && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).flatMap((one) => {
    let zoom = 1;
    for (let at = one; at; at = at.parentElement) zoom *= Number(getComputedStyle(at).zoom);
    const size = zoom * parseFloat(getComputedStyle(one).fontSize);
    return size < least ? [`${size} ${one.textContent}`] : [];
  })"""
CUT_OFF = """() => [...document.querySelectorAll(".cards")].filter((one) =>
  one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth).length"""
CARD = "article:not([hidden])"
LESSON = f"""---
title: Hostile <b>title</b> & "quotes"
trace: t.json
summary: About nothing.
---
An introduction with <script>alert(1)</script> and [a link](javascript:alert(1)).

## Will it be accepted? {{iteration=1 layer=1 node={TRIED}}}
A question.

- [ ] Never `<img src=x onerror=alert(1)>`
- [x] Perhaps

> Because **so**.

## Commit {{iteration=1 phase=commit}}

```
## not a card
```

## Later {{iteration=2 layer=1}}
Which width?

* [x] This one
* [ ] That one
"""


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lesson")
    (folder / "t.json").write_text(json.dumps(nasty_trace().to_dict()))
    (folder / "lesson.md").write_text(LESSON, encoding="utf-8")
    visualize.export_lesson(folder / "lesson.md", folder / "lesson.html")
    return folder


def test_a_lesson_is_read_as_written():
    blocks = parse_lesson(HEAD + "## A\nSaid.\n```lanes alone\nInstead.\n```\nMore.", Path("x.md")).cards[0]
    assert (blocks.text, blocks.blocks) == ("Said.\n\nMore.", {"lanes": Block("alone", "Instead.")})
    lesson = parse_lesson(LESSON, Path("x/lesson.md"))
    assert (lesson.trace, lesson.language, lesson.summary) == (Path("x/t.json"), "en", "About nothing.")
    assert [card.title for card in lesson.cards] == ["Will it be accepted?", "Commit", "Later"]
    first, second, third = lesson.cards
    assert (first.position, first.text, lesson.count) == (Position(0, 1, TRIED), "A question.", 4)
    assert first.question == CardQuestion(("Never `<img src=x onerror=alert(1)>`", "Perhaps"), 1, "Because **so**.")
    assert "## not a card" in second.text
    assert third.question == CardQuestion(("This one", "That one"), 0, "")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("# T", "line 1: a lesson opens with ---"),
        ("---\ntitle: T\n", "line 1: the opening --- is never closed"),
        ("---\ntitle: T\n---\n## A", "line 3: no trace before this line"),
        ("---\nauthor: me\n---\n", "line 2: 'author: me'; write title:, trace:"),
        ("---\ntitle: T\ntrace: t.json\nlanguage: tlh\n---\n## A", "no strings for language 'tlh'"),
        (HEAD + "Text only.", "no cards; start each with"),
        (HEAD + "## {iteration=1}", "line 5: '## {iteration=1}'; write ## Title"),
        (HEAD + "## A {at=3}", "line 5: 'at=3' is no place"),
        (HEAD + "## A {iteration=x}", "line 5: iteration is 'x'; write a whole number"),
        (HEAD + "## A {iteration=0}", "line 5: iteration=0: iterations count from 1"),
        (HEAD + "## A\n\n- [x] one", "line 7: a question has two options or more"),
        (HEAD + "## A\n- [x] one\n- [ ] two\n\nMore text.", "line 9: after the options write only the explanation"),
        (HEAD + "## A {iteration=100}", "line 5: iteration=100: this trace has iterations from 1 to 7"),
        (HEAD + "## A {iteration=1 step=1000}", "line 5: step=1000: iteration 1 has steps from 1 to"),
        (HEAD + "## A {iteration=1 node=999}", "line 5: node=999: iteration 1 tries or draws nodes"),
        (HEAD + "## A {iteration=1 layer=9}", "line 5: layer=9: iteration 1 has no such step"),
        (HEAD + "## A\n```cut at=3\n```", "line 5: 'at=3' is no place"),
        (HEAD + "## A\n```cut iteration=1 layer=9\n```", "card of line 5: cut: the trace has no guesses there"),
        (HEAD + "## A\n![p](../../secret.svg)", "card of line 5: picture '../../secret.svg': name a .svg"),
        (HEAD + "## A\n![p](https://example.org/a.png)", "picture 'https://example.org/a.png'"),
        ("---\ntitle: T\ntrace: none.json\n---\n## A", "trace: cannot read trace"),
    ],
)
def test_errors_name_file_line_and_remedy(text, named, tmp_path, capsys):
    """Catches a traceback, and an error that leaves a teacher searching."""
    TRACE.save(tmp_path / "t.json")
    (tmp_path / "bad.md").write_text(text, encoding="utf-8")
    told = refused(capsys, "lesson", str(tmp_path / "bad.md"), "--output", str(tmp_path / "out.html"))
    assert "bad.md" in told
    assert named in told


@pytest.mark.parametrize(
    ("place", "phase", "layer"),
    [("iteration=1", "draft", 1), ("iteration=1 step=4", "score", 0),
     ("iteration=1 layer=2", "width", 2), ("iteration=2 phase=score", "score", 0),
     ("iteration=1 phase=commit", "commit", 0),
     ("iteration=1 layer=2 phase=draft", "draft", 2), ("iteration=3 phase=verify", "width", 1), ("step=4", "score", 0)],
)  # fmt: skip
def test_a_place_is_the_step_it_says(place, phase, layer):
    position = Position.parse(place)
    step = steps_of(TRACE.iterations[position.it], TRACE.settings)[step_of(TRACE, position)]
    assert (step.phase, step.layer) == (phase, layer)


@pytest.mark.slow
def test_the_verdict_is_hidden_until_answered_and_from_no_teacher(browser, lesson):
    """Catches a verdict that is visible, a student who steps past a question, and markup that runs."""
    with visit(browser, lesson / "lesson.html") as seen:
        page, (frame,) = seen.page, seen.drawn()

        def shown() -> int:
            return int(page.inner_text(".dsbd-count-step").split(" ")[0]) - 1

        def pressed(*keys) -> int:
            page.focus(".dsbd")
            for key in keys:
                page.keyboard.press(key)
            return shown()

        expect(page.locator("h1")).to_have_text('Hostile <b>title</b> & "quotes"')
        expect(page.locator(".count")).to_have_text("Card 1 of 4")
        page.click("button.next")
        told = (".answer", ".dsbd-more", ".dsbd-whole", ".dsbd-legend")
        assert not any(page.is_visible(one) for one in told)  # the whole decode and the marks to come tell the verdict
        assert {shown(), *map(pressed, ("ArrowRight", "End", "PageDown"))} == {VERDICT - 1}
        assert page.inner_text(".locked")
        assert pressed("ArrowLeft") == VERDICT - 2
        page.click("article:not([hidden]) .options button >> nth=0")
        assert shown() == VERDICT
        assert page.is_visible(".dsbd-more")
        expect(page.locator("article:not([hidden]) .verdict")).to_have_text("No.")
        assert page.inner_text("article:not([hidden]) .answer").endswith("Because so.")
        assert pressed("End") == LAST
        page.click("button.next")
        page.click("button.next")
        assert page.is_disabled("button.next")
        assert page.url.endswith("#card=4")
        assert hostile_marks(frame) == page.locator(".cards script, .cards a, .cards img[src=x]").count() == 0
        page.goto(f"{(lesson / 'lesson.html').as_uri()}#card=2&teacher=1")
        page.reload()
        seen.drawn()
        assert page.is_visible("article:not([hidden]) .answer")
        assert [shown(), pressed("End")] == [VERDICT, LAST]
        page.click("button.teach")
        assert not page.is_visible("article:not([hidden]) .answer")
        assert shown() == VERDICT - 1
        seen.quiet()


@pytest.mark.parametrize(
    ("fragment", "context", "shown"),
    [("", {}, [4, 2, 0, 0, 1, 0]), ("#teacher=1", {}, [4, 3, 2, 0, 1, 0]),
     ("", {"java_script_enabled": False}, [4, 2, 0])],
    ids=["printed", "printed for the teacher", "without scripts"],
)  # fmt: skip
@pytest.mark.slow
def test_every_card_is_shown_and_no_answer_but_for_the_teacher(browser, lesson, fragment, context, shown):
    with visit(browser, lesson / "lesson.html", fragment, **context) as seen:
        if not context:
            seen.drawn()
            seen.page.emulate_media(media="print")
            assert seen.page.evaluate("[...document.querySelectorAll('.still')].every((one) => one.naturalWidth > 100)")
        parts = ("article", ".still", ".answer", ".forest", ".blanks", "nav")
        assert [seen.page.locator(f"{part}:visible").count() for part in parts][: len(shown)] == shown
        seen.quiet()


def test_no_picture_of_the_hand_out_shows_what_is_asked():
    """Catches a card whose picture tells the answer of the card before it."""
    lesson = parse_lesson(LESSON, Path("x/lesson.md"))
    asked, commit, later = stops = stops_of(lesson, TRACE)
    assert commit.step > asked.answer_step  # the commit shows every verdict
    assert printed_steps(lesson, stops) == [
        (asked.it, asked.step),
        None,
        None if later.it == asked.it else (later.it, later.step),
    ]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_lessons_lead_where_they_say(path):
    """Catches a lesson whose trace was recorded again, and an answer that the trace contradicts."""
    lesson = read_lesson(path)
    trace = Trace.load(lesson.trace)
    assert verify_trace(trace).passed
    stops_of(lesson, trace)
    states = ("orphaned", "unneeded", "accepted", "rejected")
    for card in lesson.cards:
        if card.question is None or card.position is None or card.position.node is None:
            continue
        right = card.question.options[card.question.right].lower()
        record = steps_of(trace.iterations[card.position.it], trace.settings)[step_of(trace, card.position)].record
        told = next((word for word in states if word in right), None)
        assert told is None or told == record.verdict, (card.title, record)
    assert any(card.question for card in lesson.cards)


def test_the_lab_quotes_its_figures():
    """Catches a lesson whose table is not that of the recorded runs."""
    assert len(SHIPPED) >= 5
    report = json.loads((asset_path("lessons") / "lossless.json").read_text(encoding="utf-8"))
    text = (asset_path("lessons") / "5-lossless.md").read_text(encoding="utf-8")
    assert (report["outcomes"], report["runs"]) == (378, 5000)
    rows = {"dsbd": "DSBD", "accept_all": "every guess accepted", "draft_alone": "the small model alone"}
    for name, row in rows.items():
        found, exact = report["tests"][name], name == "dsbd"
        square, p_value = f"{found['chi_square']:,.{int(exact)}f}", f"{found['p_value']:.2f}" if exact else "< 10⁻¹⁵"
        assert f"| {row} | {square} | {p_value} | {found['total_variation']:.3f} |" in text
        assert found["degrees_of_freedom"] == 21
        assert (found["p_value"] > 0.01) == exact
    first = report["likeliest"][0]
    for shown in (f"{first['expected']:,.0f} times", f"{first['accept_all']:,} times", f"{first['dsbd']:,}"):
        assert shown in text


@pytest.mark.parametrize("text", NASTY[:-1])
def test_markdown_shows_hostile_text_as_text(text, tmp_path):
    rendered = markdown(f"A {text} end", tmp_path)
    assert not any(tag in rendered.lower() for tag in ("<script", "<img", "<b>", "<a ", "onerror=alert(1)>"))


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Write every shipped lesson, and the first one in Arabic."""
    folder = tmp_path_factory.mktemp("shipped")
    for path in SHIPPED:
        visualize.export_lesson(path, folder / f"{path.stem}.html")
    text = SHIPPED[0].read_text(encoding="utf-8").replace("language: en", "language: ar")
    (folder / "t.json.gz").write_bytes((SHIPPED[0].parent / f"traces/{SHIPPED[0].stem}.json.gz").read_bytes())
    (folder / "arabic.md").write_text(text.replace(f"traces/{SHIPPED[0].stem}", "t"), encoding="utf-8")
    visualize.export_lesson(folder / "arabic.md", folder / "arabic.html")
    return folder


@pytest.mark.parametrize("name", [path.stem for path in SHIPPED])
@pytest.mark.slow
def test_every_slide_fits_and_can_be_read(name, browser, shipped):
    """Catches a card that is cut off or too small at the lower end of projectors."""
    with visit(browser, shipped / f"{name}.html", "#slides", viewport=SCREEN) as seen:
        page = seen.page
        page.wait_for_selector(".lesson.slides")
        count = page.locator("article").count()
        for at in range(count):
            expect(page.locator(".count")).to_have_text(f"Card {at + 1} of {count}")
            assert page.evaluate(SMALL, LEAST) == []
            assert page.evaluate(CUT_OFF) == 0
            if page.locator(f"{CARD} .options").count():
                assert page.locator(f"{CARD} .answer").is_hidden()
                page.keyboard.press("PageDown")
                assert page.locator(f"{CARD} .answer").is_visible()
                assert page.evaluate(CUT_OFF) == 0
            page.keyboard.press("PageDown")
        expect(page.locator(".count")).to_have_text(f"Card {count} of {count}")
        seen.quiet()


@pytest.mark.slow
def test_keys_and_buttons_turn_the_slides(browser, shipped):
    """Catches a clicker that steps the viewer, answers that a teacher's page shows at once, slides without end, and
    Arabic slides that run from left to right."""
    with visit(browser, shipped / "1-speculative-decoding.html", "#card=6&teacher=1", viewport=SCREEN) as seen:
        page = seen.page
        seen.drawn()
        assert page.is_visible(f"{CARD} .answer")
        page.click("button.slides")
        assert page.url.endswith("#card=6&slides")
        assert page.locator(f"{CARD} .answer").is_hidden()
        before = seen.sentence
        page.focus(".dsbd-scroller")
        page.keyboard.press("ArrowRight")
        assert page.locator(f"{CARD} .answer").is_visible()
        assert page.inner_text(f"{CARD} .verdict") == ""
        assert seen.sentence != before
        page.keyboard.press("ArrowRight")
        page.keyboard.press("PageUp")
        expect(page.locator(".count")).to_have_text("Card 6 of 15")
        page.keyboard.press("f")
        page.wait_for_function("document.fullscreenElement")
        page.keyboard.press("f")
        page.wait_for_function("!document.fullscreenElement")
        page.keyboard.press("Escape")
        assert page.locator(".lesson.slides").count() == 0
        assert page.is_visible("button.slides")
        assert page.url.endswith("#card=6")
        seen.quiet()
    with visit(browser, shipped / "arabic.html", "#card=3&slides", viewport=SCREEN) as seen:
        seen.drawn()
        for key, card in (("ArrowLeft", 4), ("ArrowRight", 3)):
            seen.page.keyboard.press(key)
            assert f"#card={card}" in seen.page.url
        seen.quiet()
