"""The Race tab: decoders on one clock. A recorded race stands there until one was run here."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from typing import Any

import gradio as gr

from dsbd.bench.race import race
from dsbd.bench.records import Race
from dsbd.bench.systems import POINTS, TRANSFORMERS, System, require_count, systems
from dsbd.bench.task import Question, Task
from dsbd.errors import SettingsError, StoppedError
from dsbd.settings import METHODS, DecodingSettings
from dsbd.util import SMOLLM2
from visualize import pareto_figure
from visualize.files import TEMPLATES
from visualize.race import label_of

from .form import SQL, as_prompt, settings_of
from .frames import READY
from .limits import check_prompt
from .parts import PRIVATE, alert, markup, scripted, sentence
from .play import BEGIN, KEEP, RUN, Form
from .race_markup import RECORDED, race_markup, recorded_race, task_of
from .recordings import examples_of
from .runner import Runner, RunUpdate

START = ("sampling", "beam_sampling", "speculative", "dsbd:exact", "dsbd")
"""The default decoders: with and without guesses, for one text and for several."""
MORE = (
    *(f"dsbd:{point}" for point in POINTS if point not in ("exact", "defaults")),
    *(method for method in METHODS if method not in START),
    *TRANSFORMERS,
    "play",
)
"""All other decoders that can race."""
PLAY = System("dsbd as in Play", "dsbd", DecodingSettings())
"""DSBD with every setting of the Play tab."""
WIDTHS = ("min_width", "max_width", "width_threshold")
"""What makes the width dynamic. In a race the width of DSBD stays dynamic, even if the Play tab fixes it."""
SOURCES = [("My prompt", "prompt"), ("Bundled questions", "task"), ("My questions", "own")]
MOST_QUESTIONS, START_QUESTIONS, START_TOKENS, START_RUNS = 50, 3, 48, 3
LARGE = {SQL: ("2.45", "a third"), SMOLLM2: ("2.01", "less than half")}
"""How fast and how thrifty recorded races were with passes of 7 billion parameters."""
MEASURED = "Measured here, now: the decoders took turns. The lanes show the runs with the seed of the middle gain."
OTHERS = "Every other setting is that of the Play tab; seeds count up from run to run."


def build_race_tab(runner: Runner, form: Form) -> None:
    """Build the tab; it takes pair and settings from the form of Play."""
    limits, pair = runner.limits, runner.pairs.first
    prompts = [*examples_of(runner.pairs, pair).values()]
    stage, figure, note = opening(pair)
    is_task = pair == SQL
    with gr.Column(elem_classes="workbench race-bench"), gr.Column(elem_classes="main", min_width=320):
        with gr.Row(elem_classes="race-ask", equal_height=False):
            with gr.Column(scale=1, min_width=240):
                source = gr.Radio(
                    SOURCES, value="task" if is_task else "prompt", show_label=False, elem_id="race-source"
                )
                prompt = gr.Textbox(
                    prompts[0], label="Prompt", show_label=False, container=False,
                    placeholder="Write how a text begins; of several questions, one a line", lines=1, max_lines=6,
                    visible=not is_task, elem_id="race-prompt",
                )  # fmt: skip
            with gr.Column(scale=0, min_width=132, elem_classes="actions"):
                run = gr.Button("Race", variant="primary", elem_id="race-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="race-stop")
        with gr.Accordion("Decoders, questions, runs and length", open=False, elem_classes="fold"), gr.Row():
            with gr.Column(min_width=240):
                decoders = gr.CheckboxGroup(
                    _choices(START), value=list(START), label="Decoders", elem_id="race-decoders"
                )
                more = gr.CheckboxGroup(_choices(MORE), value=[], label="More decoders", elem_id="race-more")
            with gr.Column(min_width=240):
                count = _slider(MOST_QUESTIONS, START_QUESTIONS, "How many questions", "race-questions", is_task)
                runs = _slider(limits.max_compared_runs, START_RUNS, "Runs of each", "race-runs", info=OTHERS)
                tokens = _slider(limits.max_new_tokens, START_TOKENS, "New tokens", "race-tokens")
        with gr.Row(elem_classes="race-shown", equal_height=False):
            titles = [(title, name) for name, title in RECORDED.items()]
            recorded = gr.Radio(
                titles, value=pair if pair in RECORDED else None, label="Recorded races", elem_id="race-recorded"
            )
            notice = markup(note, elem_id="race-note")
        problem = markup("", "race-problem")
        staged = scripted(stage, '<div class="race-mount"></div>', "race.js", "race-stage")
        has_race = pair in RECORDED
        scatter = gr.Plot(figure if has_race else None, show_label=False, visible=has_race, elem_id="race-scatter")
    source.input(
        lambda chosen: [gr.update(visible=chosen != "task"), gr.update(visible=chosen != "prompt")], source,
        [prompt, count], queue=False, **PRIVATE,
    )  # fmt: skip
    recorded.input(opening, recorded, [staged, scatter, notice], queue=False, **PRIVATE)

    def change_pair(pair: Any) -> list[Any]:
        start = next(iter(examples_of(runner.pairs, pair).values()))
        is_task = pair == SQL
        asked = gr.update(value=start, visible=not is_task), gr.update(visible=is_task)
        return ["task" if is_task else "prompt", *asked, pair if pair in RECORDED else None, *opening(pair)]

    changed = [source, prompt, count, recorded, staged, scatter, notice]
    form.pair.input(change_pair, form.pair, changed, queue=False, **PRIVATE)

    def start(request: gr.Request, *values: Any) -> Iterator[list[Any]]:
        yield from race_frames(runner, request.session_hash or "", *values)

    def end(request: gr.Request) -> None:
        runner.stop(request.session_hash or "")

    buttons = [run, stop]
    inputs = [form.pair, source, prompt, count, decoders, more, runs, tokens, *form.fields]
    waits: dict[str, Any] = {**RUN, "concurrency_limit": runner.turns.most}
    waits |= {"show_progress": "minimal", "show_progress_on": notice}
    begun = run.click(None, None, [*buttons, problem], js=BEGIN, **PRIVATE)
    run.click(None, None, recorded, js="() => null", **PRIVATE)
    running = begun.then(start, inputs, [staged, scatter, notice, problem, *buttons], **waits)
    running.failure(lambda: READY, None, buttons, queue=False, **PRIVATE)
    stop.click(end, None, None, queue=False, **PRIVATE)  # the race itself shows what ran until then


def _slider(
    most: int, start: int, label: str, elem_id: str, visible: bool = True, info: str | None = None
) -> gr.Slider:
    return gr.Slider(
        1, most, min(start, most), step=1, label=label, info=info, buttons=[], visible=visible, elem_id=elem_id
    )


def _choices(names: Sequence[str]) -> list[tuple[str, str]]:
    named = {"dsbd": "dsbd defaults", "play": PLAY.name}
    return [(label_of(named.get(name) or name.replace(":", " ")), name) for name in names]


def opening(pair: Any) -> tuple[str, Any, str]:
    """Return stage, figure and note before anything has run: the recorded race of a pair, if there is one."""
    if pair not in RECORDED:
        return "", gr.update(visible=False), _note()
    race = recorded_race(pair)
    note = _note(table=race.table, large=LARGE.get(pair))
    return race_markup(race, task_of(pair), is_recorded=True), pareto_figure(race), note


def _note(**values: Any) -> str:
    return TEMPLATES.get_template("page/race_note.html").render(values).strip()


def questions_of(
    runner: Runner, pair: str, source: Any, prompt: Any, count: Any
) -> tuple[Sequence[str] | Sequence[Question], Task | None]:
    """Return the prompts or questions of a visitor, and the task that scores the answers.

    Raises: PromptError, SettingsError, TaskError.
    """
    if source == "task":
        task = task_of(pair)
        questions = task.questions(require_count("questions", count))
        return (questions, task) if task.main_metric else ([one.prompt for one in questions], None)
    text = check_prompt(runner.limits, prompt)
    if source != "own":
        return [as_prompt(pair, text)], None
    lines = [*dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())]
    return [as_prompt(pair, line) for line in lines[: require_count("questions", count)]], None


def systems_of(names: Sequence[Any], settings: DecodingSettings) -> tuple[System, ...]:
    """Return systems in the page's order; points and widths keep their values, all else is as ``settings`` say.

    Raises: SettingsError: an unknown name, or none.
    """
    known = (*START, *MORE)
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    for name in names:
        if name not in known:
            raise SettingsError(f"decoder is {str(name)[:60]!r}; choose among {', '.join(known)}")
    chosen: list[System] = []
    for name in (one for one in known if one in names):
        if name == "play":
            chosen.append(replace(PLAY, settings=replace(settings, method="dsbd")))
            continue
        fixed = {"method", *POINTS.get(name.partition(":")[2], {}), *(WIDTHS if name.startswith("dsbd") else ())}
        values = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in fixed}
        chosen += systems([name], values)
    return tuple(chosen)


def race_frames(
    runner: Runner, session: str, pair: Any, source: Any, prompt: Any, count: Any, decoders: Any, more: Any, runs: Any,
    tokens: Any, *values: Any,
) -> Iterator[list[Any]]:  # fmt: skip
    """Yield stage, figure, note, problem, Run and Stop; a frame for every run, the last with lanes, texts and table."""
    latest: Race | None = None
    task: Task | None = None
    try:
        name = runner.pairs.check(pair)
        questions, task = questions_of(runner, name, source, prompt, count)
        shared = replace(settings_of("dsbd", values, runner.limits), max_new_tokens=require_count("tokens", tokens))
        chosen = systems_of([*(decoders or []), *(more or [])], shared)
        texts = [one if isinstance(one, str) else one.prompt for one in questions]
        rounds = require_count("runs", runs)
        work = partial(race, systems=list(chosen), prompts=list(questions), task=task, rounds=rounds)
        each = [one.settings for one in chosen]
        with closing(runner.race(session, name, texts, each, rounds, work)) as steps:
            for step in steps:
                if isinstance(step, Race):
                    latest = step
                else:
                    note = step.doing if isinstance(step, RunUpdate) else _note(progress=step)
                    yield [KEEP, KEEP, note, "", KEEP, KEEP]
        yield _result(latest, task, MEASURED)
    except StoppedError as error:
        if latest is None:
            yield [KEEP, KEEP, f"{error} Nothing had run yet.", "", *READY]
        else:
            yield _result(latest, task, f"{error} Shown is what ran until then.")
    except Exception as error:
        yield [KEEP, KEEP, "", alert(sentence(error)), *READY]


def _result(race: Race | None, task: Task | None, note: str) -> list[Any]:
    assert race is not None, "a race ends with its record"
    return [race_markup(race, task), gr.update(value=pareto_figure(race), visible=True), note, "", *READY]
