"""The Play tab: its parts and how they are wired."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from ..asked.examples import examples_for
from ..decodes import history, messages
from ..decodes.opening import Opening, opening_of
from ..decodes.python_lines import python_lines
from ..decodes.recording import Recording
from ..decodes.stat_strip import stat_strip
from ..engine import Engine
from ..pairs.shelf import PAGE
from ..parts.components import forest_viewer, markup, problem_line, running_line
from ..parts.files import read
from ..parts.wiring import ON_GPU, PRIVATE, session_of
from ..runs import decode as handlers
from ..runs.around import KEEP, Around, wire_run
from . import shown
from .following import CLICK_RUN, follow, hidden, wire_link, wire_refresh, wire_restoring
from .live_run import build_live_run
from .play_form import Form, TraceTools, build_form, updates
from .plotly_view import plotly_view
from .share import CLICK_FILE, WITH_PLACE, Share, build_share

BROKEN = "The decode failed on the server. The page is ready for another run."


@dataclass(frozen=True)
class Play:
    """The tab: its parts, and what happens after each event."""

    engine: Engine
    form: Form
    tools: TraceTools
    share: Share
    parts: handlers.Frame
    """The parts that a frame changes."""
    go_on: gr.Button
    lines: gr.Textbox
    """The program that repeats what is shown, in the fold ``python``."""
    python: gr.Accordion
    kept: gr.State
    """The decodes of this visit."""
    first: Recording | None
    """What the page opens with."""

    def show(
        self, event: Any, handler: Callable[..., handlers.Frame], given: list[Any], *, in_drawer: bool = False
    ) -> None:
        """On this event show the frame of a handler of ``given``; the form follows it, unless it is a refusal.

        With ``in_drawer`` a refusal stands beside the files: on a phone the drawer covers everything else.
        """
        tools, share, form = self.tools, self.share, self.form

        def followed(*values: Any) -> list[Any]:
            frame, beside = handler(*values), ""
            if in_drawer and frame.problem:
                frame, beside = frame._replace(note=KEEP, problem=""), frame.problem
            new, filled = frame.recording, [KEEP] * len(form.filled)
            if isinstance(new, Recording):
                filled = updates(new.prompt, new.trace.settings, self.engine.limits)
            return [*frame, *filled, beside, ""]

        self.remember(event(followed, given, [*self.parts, *form.filled, tools.said, share.said], **PRIVATE))

    def remember(self, event: Any) -> None:
        """After an event that may bring a decode: it goes into the list of decodes."""

        def keep(pair: str, runs: Any, new: Any) -> Any:
            return history.keep(runs, new, self.engine.pairs.target_id(pair))

        given, changed = [self.form.pair, self.kept, self.parts.news], [self.kept, self.tools.shown, self.parts.news]
        event.then(keep, given, changed, queue=False, **PRIVATE)
        self._write_program(event.then)

    def _write_program(self, event: Any) -> None:
        """On this event write the program that repeats what is shown."""

        def program(state: Recording | None) -> str:
            decode = state or self.first
            return python_lines(decode.trace) if decode else ""

        event(program, self.parts.recording, self.lines, queue=False, **PRIVATE)

    def _forget_said(self, event: Any) -> None:
        """What was said beside files is about another decode now."""
        event.then(lambda: ("", ""), outputs=[self.tools.said, self.share.said], queue=False, **PRIVATE)

    def wire_run(self) -> None:
        """Run, Stop, and "Continue the text"."""
        form, parts, limits = self.form, self.parts, self.engine.limits

        def run(session: str, pair: str, *given: Any) -> Iterator[handlers.Frame]:
            return handlers.run(self.engine, session, *given, pair=pair)

        def further(state: Recording | None) -> list[Any]:
            return updates(*shown.further(state, limits), limits)

        filled = self.go_on.click(further, parts.recording, form.filled, queue=False, **PRIVATE)
        filled.success(None, js=f"() => ({CLICK_RUN})(true)", **PRIVATE)
        around = Around(parts.note, parts.problem, parts.run, parts.stop)
        triggers = [form.run.click, form.prompt.submit]
        begun, running = wire_run(self.engine, triggers, run, form.inputs, list(parts), around, BROKEN)
        self._forget_said(begun)
        self.remember(running)
        wire_refresh(self.engine, form, begun, running)

    def wire_traces(self) -> None:
        """The list of decodes, files in and out, and the program."""
        tools, pair = self.tools, self.form.pair
        chosen, brought = partial(shown.choose, self.engine), partial(shown.bring_file, self.engine)
        self.show(tools.shown.input, chosen, [pair, self.kept, tools.shown], in_drawer=True)
        self.show(tools.upload.upload, brought, [pair, tools.upload], in_drawer=True)
        share, recording = self.share, self.parts.recording
        files = [share.file, share.said]
        page = share.page.click(self._page_of_shown, [share.place, recording], files, js=WITH_PLACE, **PRIVATE)
        trace = share.trace.click(lambda state: shown.save_trace(state or self.first), recording, files, **PRIVATE)
        for taken in (page, trace):
            taken.then(None, js=CLICK_FILE, **PRIVATE)
        self._write_program(self.python.expand)

    def _page_of_shown(self, place: str, state: Recording | None) -> tuple[str | None, str]:
        return shown.save_page(state or self.first, place)

    def wire_pairs(self, linked: gr.State, now: gr.Textbox) -> None:
        """Examples, recordings and prompt belong to the pair."""

        def followed(pair: str, runs: Any, state: Recording | None, asked: Any) -> list[Any]:
            return follow(self.engine, pair, runs, state or self.first, asked)

        def example(place: int, pair: str) -> str:
            return list(examples_for(self.engine.pairs.target_id(pair)).values())[place]

        form = self.form
        for place, chip in enumerate(form.chips):
            chip.click(partial(example, place), form.pair, form.prompt, queue=False, **PRIVATE)
        changed = [self.tools.shown, *form.chips, *self.parts, *form.filled, linked, now]
        other = form.pair.change(followed, [form.pair, self.kept, self.parts.recording, linked], changed, **PRIVATE)
        self._forget_said(other)
        self._write_program(other.then)


def build_play_tab(engine: Engine, page: gr.Blocks) -> Play:
    opening = opening_of(engine.pair.target.id)
    recording, kept, linked, now = gr.State(None), gr.State(()), gr.State(None), hidden("now")
    with gr.Column(elem_classes="workbench main play"):
        form, tools = build_form(engine, opening)
        parts = _stage(opening, form, recording)
        go_on, share, lines, python = _after()
        build_live_run(engine, form)
    tab = Play(engine, form, tools, share, parts, go_on, lines, python, kept, opening.recording)
    tab.wire_run()
    tab.wire_traces()
    tab.wire_pairs(linked, now)
    wire_link(engine, form, share, recording, opening.recording, parts.problem)
    wire_restoring(engine, page, form, opening, linked, now, parts.note, parts.problem)
    _offer(engine)
    return tab


def _stage(opening: Opening, form: Form, recording: gr.State) -> handlers.Frame:
    first = opening.recording
    note = markup(opening.note, elem_id="note")
    problem = problem_line("problem")
    forest = forest_viewer(messages.whole_scene(first) if first else "")
    plotly_view(recording, first)
    text = running_line(messages.text(first) if first else "")
    markup(read("play/marks.html"))
    with gr.Accordion("Figures of this decode", open=False, elem_classes="fold", elem_id="more"):
        stats = markup(stat_strip(first) if first else "", elem_id="stats")
    return handlers.Frame(forest, text, stats, note, problem, form.run, form.stop, recording, gr.State(None))


def _after() -> tuple[gr.Button, Share, gr.Textbox, gr.Accordion]:
    """What can be done with the text that is shown."""
    with gr.Row(elem_classes="tools after"):
        go_on = gr.Button("Continue the text", size="sm", elem_id="go-on", min_width=0)
    share = build_share()
    with gr.Accordion("Repeat it in Python", open=False, elem_classes="fold", elem_id="python") as python:
        lines = gr.Textbox(label="A program", buttons=["copy"], interactive=False, lines=7, elem_id="lines")
    return go_on, share, lines, python


def _offer(engine: Engine) -> None:
    def decode(
        request: gr.Request, prompt: str, settings: dict[str, Any] | None = None, pair: str = PAGE
    ) -> Iterator[dict[str, Any]]:
        yield from handlers.decode(engine, session_of(request), prompt, settings, pair)

    decode.__doc__ = handlers.decode.__doc__
    gr.api(decode, api_name="decode", **ON_GPU)
