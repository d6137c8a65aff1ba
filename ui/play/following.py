"""What the form of the Play tab follows: a link, another pair, and ``auto`` once its trials were made here."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from dsbd.errors import DsbdError, SettingsError
from dsbd.settings import AUTO, DecodingSettings

from ..asked.examples import examples_for, first_example
from ..asked.form import FIELDS, check_prompt, is_read, settings_of, values_of
from ..asked.link import Linked, is_form, pair_name, query_of, read_query
from ..decodes import history, traces
from ..decodes.history import Kept
from ..decodes.opening import RECORDED, Opening, said_beside
from ..decodes.recording import Recording
from ..engine import Engine
from ..pairs.shelf import PAGE, public_key
from ..parts.wiring import PRIVATE
from ..runs.around import KEEP
from ..runs.decode import Frame
from ..runs.sentences import alert, sentence
from .pair_loading import choices
from .play_form import Form, updates
from .share import WITH_PLACE, Share
from .shown import PLACE, choose

SAID = "Guesses is auto: Run uses the forest that was measured to be fastest here."
COPY_LINK = """(query) => {
  if (!query) return query;
  const link = location.origin + location.pathname + "?" + query;
  history.replaceState(null, "", link);
  navigator.clipboard?.writeText(link).catch(() => {});
  return link;
}"""
ASKED = """() => {
  const begun = sessionStorage.getItem("dsbd-run" + location.search);
  return [begun ?? location.search.slice(1)];
}"""
"""What the address asks for, or the run that a refresh of this address has broken off."""
KEEP_RUN = """(query) => {
  if (query) sessionStorage.setItem("dsbd-run" + location.search, query);
}"""
FORGET_RUN = """() => sessionStorage.removeItem("dsbd-run" + location.search)"""
CLICK_RUN = "(now) => now && setTimeout(() => document.querySelector('#run')?.click(), 120)"
NOW = "now"
REFUSED = "The link could not be followed. Press Run, or choose a recorded decode under Settings."
FILLED = "The link filled in the form."
BESIDE = "Press Run to see its text; what is shown is a recording."


def with_auto(engine: Engine, pair: str, settings: DecodingSettings) -> DecodingSettings | None:
    """The settings of a form with guesses on ``auto``, if a plan for them is known and drafts; else None.

    Nothing is measured, and no pair is loaded. ``pair`` is a key.
    """
    if not is_read(settings.method, "forest"):
        return None
    values = [
        AUTO if field.name == "forest" else value for field, value in zip(FIELDS, values_of(settings), strict=True)
    ]
    try:
        asked = settings_of(settings.method, values)
    except SettingsError:  # a recording may hold what the form cannot ask for
        return None
    plan = engine.known_plan(asked, pair)
    return asked if plan is not None and plan.values["draft_depth"] else None


def wire_link(
    engine: Engine, form: Form, share: Share, recording: gr.State, first: Recording | None, problem: gr.HTML
) -> None:
    """The link is to the form, and to the step that is shown if that is the form's decode. ``first``: what the page
    opens with."""

    def query(
        place: str, shown: Recording | None, pair: str, prompt: Any, method: Any, *values: Any
    ) -> tuple[Any, str, str]:
        try:
            settings, decode = settings_of(method, values), shown or first
            asked = _query(engine, pair, prompt, settings)
        except DsbdError as error:
            return gr.update(value="", visible=False), alert(sentence(error)), ""
        if decode is None or not _is_of(decode, prompt, settings):
            return gr.update(value=asked, visible=True), "", ""
        if other := _other_numbers(engine, pair, decode):
            return gr.update(value=asked, visible=True), "", f'<p role="status">{other}</p>'
        after = f"#{place}" if PLACE.fullmatch(place) else ""
        return gr.update(value=asked + after, visible=True), "", ""

    given, shown_on = [share.place, recording, *form.inputs], [share.link, problem, share.said]
    asked = share.copy.click(query, given, shown_on, queue=False, js=WITH_PLACE, **PRIVATE)
    asked.then(None, share.link, share.link, js=COPY_LINK, **PRIVATE)


def _query(engine: Engine, pair: str, prompt: Any, settings: DecodingSettings) -> str:
    """The form as a link asks for it. Raises: PromptError."""
    return query_of(check_prompt(prompt, engine.limits), settings, pair_name(pair, engine.pairs))


def _is_of(decode: Recording, prompt: str, asked: DecodingSettings) -> bool:
    """Whether a decode may be the one that the form asks for; its other settings are what the asked ones came to."""
    made = decode.trace.settings
    return (decode.prompt, made.method, made.seed) == (prompt, asked.method, asked.seed)


def _other_numbers(engine: Engine, pair: str, decode: Recording) -> str:
    """What to say of a decode whose models computed in other numbers than the pair here; empty if they did not."""
    if not engine.pairs.is_loaded(pair):
        return ""
    made = decode.trace.models.target.dtype
    here = str(engine.pairs.get(pair).target.dtype).removeprefix("torch.")
    if made == here:
        return ""
    return (
        f"This decode was computed in {made}, and the models here compute in {here}: the link may open another text. "
        "To share exactly this one, take Page at this step, or Trace."
    )


def hidden(elem_id: str) -> gr.Textbox:
    """A text that scripts of the page read and write; a State would not take a value from a script."""
    return gr.Textbox("", visible="hidden", elem_id=elem_id)


def wire_refresh(engine: Engine, form: Form, begun: Any, running: Any) -> None:
    """A run that a refresh breaks off begins again: until it ends, the browser keeps its form for this visit."""

    def query(pair: str, prompt: Any, method: Any, *values: Any) -> str:
        try:
            return _query(engine, pair, prompt, settings_of(method, values))
        except DsbdError:
            return ""

    kept = hidden("kept-run")
    begun.then(query, form.inputs, kept, queue=False, **PRIVATE).then(None, kept, js=KEEP_RUN, **PRIVATE)
    running.then(None, js=FORGET_RUN, **PRIVATE)


def wire_restoring(
    engine: Engine,
    page: gr.Blocks,
    form: Form,
    opening: Opening,
    linked: gr.State,
    now: gr.Textbox,
    note: gr.HTML,
    problem: gr.HTML,
) -> None:
    """The page opens as its address says, and runs a prompt that the address names.

    A pair is chosen first. The rest of the address waits in ``linked`` until the form has followed the pair. ``now``
    presses Run.
    """
    kept = [KEEP] * len(form.filled)

    def opened() -> list[Any]:
        """The form as the page was built, with ``auto`` if its trials were made since."""
        asked = with_auto(engine, PAGE, opening.settings)
        words = KEEP if asked is None else f"{opening.note} {SAID}"
        return [*updates(None, asked, engine.limits), words, *[KEEP] * 4]

    def restore(address: str) -> list[Any]:
        try:
            found = read_query(dict(parse_qsl(address, keep_blank_values=True)), engine.limits, engine.pairs)
        except (DsbdError, ValueError) as error:  # the latter from an address of thousands of fields
            words = sentence(error) if isinstance(error, DsbdError) else "The address has too many fields."
            return [*kept, REFUSED, alert(words), *[KEEP] * 3]
        if found is None:
            return opened()
        if found.pair not in (None, PAGE):
            return [*kept, KEEP, "", gr.update(choices=choices(engine), value=public_key(found.pair)), found, KEEP]
        filled = updates(found.prompt, found.settings, engine.limits)
        return [*filled, said_of_link(found), "", KEEP, KEEP, _now(found)]

    asked, filled = hidden("asked"), [*form.filled, note, problem, form.pairs, linked, now]
    page.load(restore, asked, filled, js=ASKED, queue=False, **PRIVATE)
    now.change(None, now, js=CLICK_RUN, **PRIVATE)


def said_of_link(linked: Linked) -> Any:
    """What to say beside a form that a link has filled in; a prompt is run at once."""
    if linked.prompt is not None:
        return FILLED
    return f"{FILLED} {BESIDE}" if is_form(linked) else KEEP


def _now(linked: Linked | None) -> Any:
    return KEEP if linked is None or linked.prompt is None else NOW


def follow(
    engine: Engine, pair: str, kept: Sequence[Kept], looked_at: Recording | None, linked: Linked | None
) -> list[Any]:
    """The tab after the choice of a pair.

    The first recording of the pair is shown, and the form repeats it, with ``auto`` if its trials were made for these
    settings. Without a recording, what is shown stays, a sentence says which model made it, and the prompt is the
    pair's first example.

    A link that chose the pair goes first, with its prompt and settings. Returned are updates of the list of decodes,
    the examples, the parts of a frame, the form, ``linked``, which becomes None, and what presses Run.
    """
    target = engine.pairs.target_id(pair)
    name = next((name for _, name in traces.recordings_of(target)), None)
    frame = choose(engine, pair, kept, name) if name else Frame(note=said_beside(target, looked_at))
    settings: DecodingSettings | None = None
    prompt = first_example(target)
    if isinstance(frame.recording, Recording):
        prompt, settings = frame.recording.prompt, frame.recording.trace.settings
        asked = with_auto(engine, pair, settings)
        if asked is not None:
            settings, frame = asked, frame._replace(note=f"{RECORDED} {SAID}")
    if linked is not None and is_form(linked):
        prompt, settings = linked.prompt or prompt, linked.settings or settings
        frame = frame._replace(note=said_of_link(linked) if name or linked.prompt else f"{FILLED} {frame.note}")
    words = [gr.update(value=word) for word in examples_for(target)]
    offered = gr.update(choices=history.choices(kept, target), value=name)
    return [offered, *words, *frame, *updates(prompt, settings, engine.limits), None, _now(linked)]
