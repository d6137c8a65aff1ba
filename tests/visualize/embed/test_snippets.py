"""Each snippet is pasted into a static imitation of the place it is for, and opened."""

import html
import re

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import visit
from tests.visualize.traces import scene_of

SCENE = scene_of("toy")
STEPS = SCENE.iterations[0].steps
DECK = """<!doctype html><meta charset="utf-8"><div class="slides">{slides}</div><script>
globalThis.Reveal = {{heard: {{}}, on(name, act) {{ this.heard[name] = act; }}}};
const steps = () => [...document.querySelectorAll(".dsbd-step")];
globalThis.press = (by) => {{
  const all = steps(), at = all.filter((one) => one.classList.contains("visible")).length;
  const fragment = by > 0 ? all[at] : all[at - 1];
  fragment.classList.toggle("visible");
  Reveal.heard[by > 0 ? "fragmentshown" : "fragmenthidden"]({{fragment}});
}};</script>"""
"""A deck that sends the events of reveal.js, without its style."""


def framed(kind: str, snippet: str) -> str:
    """Return what the place makes of the snippet."""
    if kind == "myst":
        address = re.match(r":::\{iframe\} (\S+)\n:width: 100%\n", snippet)[1]
        return f'<iframe src="{html.escape(address)}" width="100%" height="700"></iframe>'
    if kind == "jupyter":
        made: dict = {}
        exec(snippet.split("\n", 1)[1].replace("IFrame(", "made.update(src="), {"made": made})
        return f'<iframe src="{html.escape(made["src"])}" width="{made["width"]}" height="{made["height"]}"></iframe>'
    return re.fullmatch(r"(?:```\{=html\}\n)?(.*?)\n(?:```\n)?", snippet, re.S)[1]


@pytest.mark.slow
def test_an_address_opens_in_its_place(browser, exported):
    """Catches a snippet that its place cannot read, or that opens elsewhere than asked."""
    kinds = ("iframe", "jupyter", "myst", "quarto", "moodle", "wordpress")
    how = {"iteration": 1, "step": 2, "title": 'A "forest" <b>'}
    frames = [framed(kind, visualize.embed_snippet("viewer.html", kind, **how)) for kind in kinds]
    assert max(map(len, frames)) < 400
    page = exported.with_name("all.html")
    page.write_text(f"<!doctype html><meta charset='utf-8'>{' '.join(frames)}".replace("lazy", "eager"))
    with visit(browser, page) as seen:
        for frame in seen.drawn(len(kinds)):
            expect(frame.locator(".dsbd-sentence")).to_have_text(SCENE.iterations[1].steps[2].sentence)
        seen.quiet()


@pytest.mark.slow
def test_slides_step_the_viewer(browser, exported):
    """Catches a viewer that does not follow the presenter, or loses its place when the slide was hidden."""
    page = exported.with_name("deck.html")
    slides = visualize.embed_snippet("viewer.html", "reveal", iteration=0, step=3, steps=4)
    assert slides.count('<span class="fragment dsbd-step"></span>') == 4
    page.write_text(DECK.format(slides=slides), encoding="utf-8")
    with visit(browser, page) as seen:
        (frame,) = seen.drawn()

        def says(step: int) -> None:
            frame.wait_for_function(
                "text => document.querySelector('.dsbd-sentence').textContent === text", arg=STEPS[step].sentence
            )

        says(3)
        for step in (4, 5, 6):
            seen.page.evaluate("() => press(1)")
            says(step)
        seen.page.evaluate("() => press(-1)")
        says(5)
        frame.evaluate("() => location.reload()")
        seen.page.wait_for_timeout(200)
        (frame,) = seen.drawn()
        says(5)
        seen.quiet()
