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
from .links import wire_link, wire_restoring
from .pair import follow
from .play_form import Form, TraceTools, build_form, updates
from .plotly_view import plotly_view

BROKEN = "The decode broke off on the server. The page is ready for another run."
CLICK_DOWNLOAD = "() => setTimeout(() => document.querySelector('#trace-file')?.click(), 120)"
CLICK_RUN = "() => setTimeout(() => document.querySelector('#run')?.click(), 120)"


@dataclass(frozen=True)
class Stage:
    """What a run shows."""

    forest: gr.HTML
    text: gr.HTML
    stats: gr.HTML
    note: gr.HTML
    problem: gr.HTML


@dataclass(frozen=True)
class After:
    """What can be done with the text that is shown."""

    go_on: gr.Button
    share: gr.Button
    link: gr.Textbox
    lines: gr.Textbox
    python: gr.Accordion


@dataclass(frozen=True)
class Play:
    """What other tabs share with this one."""

    form: Form
    show: Callable[[Any, Callable[..., handlers.Frame], list[Any]], None]
    """``show(event, handler, inputs)``: the tab then shows the frame of the handler, and the form follows it."""


def build_play_tab(engine: Engine, page: gr.Blocks) -> Play:
    """The whole tab of this page."""
    recording, kept = gr.State(None), gr.State(())
    opening = opening_of(engine.pair.target.id)
    first = opening.recording
    with gr.Column(elem_classes="workbench main play"):
        form, tools = build_form(engine, opening)
        stage = _stage(opening)
        after = _after()
        plotly_view(recording, first)
    outputs = _outputs(form, stage, recording)
    repeat = _repeating(after, first, recording)
    remember = _remembering(engine, form, kept, tools, outputs, repeat)
    linked = gr.State(None)
    _wire_run(engine, form, after, tools, outputs, remember)
    show = _wire_traces(engine, form, tools, kept, first, outputs, remember)
    _wire_pairs(engine, form, tools, kept, first, outputs, linked, repeat)
    wire_link(engine, form, after.share, after.link, stage.problem)
    wire_restoring(engine, page, form, opening, linked, stage.note, stage.problem)
    _offer(engine)
    return Play(form, show)


def _stage(opening: Opening) -> Stage:
    first = opening.recording
    note = markup(opening.note, elem_id="note")
    problem = problem_line("problem")
    forest = forest_viewer(messages.whole_scene(first) if first else "")
    text = running_line(messages.text(first) if first else "")
    markup(read("play/marks.html"))
    with gr.Accordion("Figures of this decode", open=False, elem_classes="fold", elem_id="more"):
        stats = markup(stat_strip(first) if first else "", elem_id="stats")
    return Stage(forest, text, stats, note, problem)


def _after() -> After:
    with gr.Row(elem_classes="tools after"):
        go_on = gr.Button("Continue the text", size="sm", elem_id="go-on", min_width=0)
        share = gr.Button("Copy link", size="sm", elem_id="share", min_width=0)
    link = gr.Textbox(
        label="Link to this prompt and these settings",
        visible=False,
        buttons=["copy"],
        interactive=False,
        elem_id="link",
    )
    with gr.Accordion("Repeat it in Python", open=False, elem_classes="fold", elem_id="python") as python:
        lines = gr.Textbox(label="A program", buttons=["copy"], interactive=False, lines=7, elem_id="lines")
    return After(go_on, share, link, lines, python)


def _outputs(form: Form, stage: Stage, recording: gr.State) -> list[Any]:
    """In the order of :class:`.decode.Frame`."""
    parts = [stage.forest, stage.text, stage.stats, stage.note, stage.problem]
    return [*parts, form.run, form.stop, recording, gr.State(None)]


def _repeating(after: After, first: Recording | None, recording: gr.State) -> Callable[[Any], None]:
    """Returns what to do after an event that may have changed what is shown: the program is that of what is shown."""
    program = partial(_program, first)

    def repeat(event: Any) -> None:
        event.then(program, recording, after.lines, queue=False, **PRIVATE)

    after.python.expand(program, recording, after.lines, queue=False, **PRIVATE)
    return repeat


def _remembering(
    engine: Engine,
    form: Form,
    kept: gr.State,
    tools: TraceTools,
    outputs: list[Any],
    repeat: Callable[[Any], None],
) -> Callable[[Any], None]:
    """Returns what to do after an event that may have brought news: they go into the list of decodes."""
    news = handlers.Frame(*outputs).news

    def keep(pair: str, runs: Any, new: Any) -> Any:
        return history.keep(runs, new, engine.pairs.target_id(pair))

    def after(event: Any) -> None:
        event.then(keep, [form.pair, kept, news], [kept, tools.shown, news], queue=False, **PRIVATE)
        repeat(event)

    return after


def _wire_run(
    engine: Engine, form: Form, after: After, tools: TraceTools, outputs: list[Any], remember: Callable[[Any], None]
) -> None:
    parts = handlers.Frame(*outputs)
    around = Around(parts.note, parts.problem, parts.run, parts.stop)

    def run(session: str, pair: str, *given: Any) -> Iterator[handlers.Frame]:
        return handlers.run(engine, session, *given, pair=pair)

    def further(state: Recording | None) -> list[Any]:
        return updates(*shown.further(state, engine.limits), engine.limits)

    filled = after.go_on.click(further, parts.recording, form.filled, queue=False, **PRIVATE)
    filled.success(None, js=CLICK_RUN, **PRIVATE)
    triggers = [form.run.click, form.prompt.submit]
    begun, running = wire_run(engine, triggers, run, form.inputs, outputs, around, BROKEN)
    begun.then(_forget, outputs=tools.said, queue=False, **PRIVATE)
    remember(running)


def _wire_traces(
    engine: Engine,
    form: Form,
    tools: TraceTools,
    kept: gr.State,
    first: Recording | None,
    outputs: list[Any],
    remember: Callable[[Any], None],
) -> Callable[[Any, Callable[..., handlers.Frame], list[Any]], None]:
    recording = handlers.Frame(*outputs).recording
    unchanged = [KEEP] * len(form.filled)

    def followed(frame: handlers.Frame) -> list[Any]:
        """The form has the prompt and the settings of what is shown; what is refused changes nothing."""
        new = frame.recording
        filled = updates(new.prompt, new.trace.settings, engine.limits) if isinstance(new, Recording) else unchanged
        return [*frame, *filled]

    def in_drawer(frame: handlers.Frame) -> list[Any]:
        """What was refused is said beside the files: on a phone the drawer lies over everything else."""
        refused = frame.problem if isinstance(frame.problem, str) else ""
        what = frame._replace(note=KEEP, problem="") if refused else frame
        return [*followed(what), refused]

    def show(event: Any, handler: Callable[..., handlers.Frame], given: list[Any]) -> None:
        done = event(lambda *values: followed(handler(*values)), given, [*outputs, *form.filled], **PRIVATE)
        done.then(_forget, outputs=tools.said, queue=False, **PRIVATE)
        remember(done)

    def show_from_drawer(event: Any, handler: Callable[..., handlers.Frame], given: list[Any]) -> None:
        changed = [*outputs, *form.filled, tools.said]
        remember(event(lambda *values: in_drawer(handler(*values)), given, changed, **PRIVATE))

    show_from_drawer(tools.shown.input, partial(shown.choose, engine), [form.pair, kept, tools.shown])
    show_from_drawer(tools.upload.upload, partial(shown.bring_file, engine), [form.pair, tools.upload])
    for button, save in ((tools.download, shown.save_trace), (tools.document, shown.save_page)):
        taken = button.click(_of(save, first), recording, [tools.file, tools.said], **PRIVATE)
        taken.then(None, js=CLICK_DOWNLOAD, **PRIVATE)
    return show


def _of(save: Callable[[Recording | None], Any], first: Recording | None) -> Callable[[Recording | None], Any]:
    return lambda state: save(state or first)


def _program(first: Recording | None, state: Recording | None) -> str:
    decode = state or first
    return python_lines(decode.trace) if decode else ""


def _wire_pairs(
    engine: Engine,
    form: Form,
    tools: TraceTools,
    kept: gr.State,
    first: Recording | None,
    outputs: list[Any],
    linked: gr.State,
    repeat: Callable[[Any], None],
) -> None:
    """Examples, recordings and prompt belong to the pair."""
    recording = handlers.Frame(*outputs).recording

    def followed(pair: str, runs: Any, state: Recording | None, asked: Any) -> list[Any]:
        return follow(engine, pair, runs, state or first, asked)

    def example(place: int, pair: str) -> str:
        return list(examples_for(engine.pairs.target_id(pair)).values())[place]

    for place, chip in enumerate(form.chips):
        chip.click(partial(example, place), form.pair, form.prompt, queue=False, **PRIVATE)
    changed = [tools.shown, *form.chips, *outputs, *form.filled, linked]
    other = form.pair.change(followed, [form.pair, kept, recording, linked], changed, **PRIVATE)
    other.then(_forget, outputs=tools.said, queue=False, **PRIVATE)
    repeat(other)


def _forget() -> str:
    """What was said beside the files belongs to the decode it was about."""
    return ""


def _offer(engine: Engine) -> None:
    def decode(
        request: gr.Request, prompt: str, settings: dict[str, Any] | None = None, pair: str = PAGE
    ) -> Iterator[dict[str, Any]]:
        yield from handlers.decode(engine, session_of(request), prompt, settings, pair)

    decode.__doc__ = handlers.decode.__doc__
    gr.api(decode, api_name="decode", **ON_GPU)
