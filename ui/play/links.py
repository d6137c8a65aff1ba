"""Makes a link to what the form of the Play tab holds, and opens such a link."""

from typing import Any

import gradio as gr

from dsbd.errors import DsbdError

from ..asked.form import check_prompt, settings_of
from ..asked.link import is_form, pair_name, query_of, read_query
from ..decodes.opening import Opening
from ..engine import Engine
from ..pairs.shelf import PAGE, public_key
from ..parts.wiring import PRIVATE
from ..runs.around import KEEP
from ..runs.sentences import alert, sentence
from .auto_default import SAID, with_auto
from .pair_loading import choices
from .play_form import Form, updates

COPY_LINK = """(query) => {
  if (!query) return query;
  const link = location.origin + location.pathname + "?" + query;
  history.replaceState(null, "", link + location.hash);
  navigator.clipboard?.writeText(link).catch(() => {});
  return link;
}"""
FILLED = "The link filled in the form."
BESIDE = "Press Run to see its text; what is shown is a recording."


def wire_link(engine: Engine, form: Form, share: gr.Button, link: gr.Textbox, problem: gr.HTML) -> None:
    """The button copies a link to the form."""

    def query(pair: str, prompt: Any, method: Any, *values: Any) -> tuple[Any, str]:
        try:
            settings = settings_of(method, values)
            asked = query_of(check_prompt(prompt, engine.limits), settings, pair_name(pair, engine.pairs))
            return gr.update(value=asked, visible=True), ""
        except DsbdError as error:
            return gr.update(value="", visible=False), alert(sentence(error))

    asked = share.click(query, form.inputs, [link, problem], queue=False, **PRIVATE)
    asked.then(None, link, link, js=COPY_LINK, **PRIVATE)


def wire_restoring(
    engine: Engine, page: gr.Blocks, form: Form, opening: Opening, linked: gr.State, note: gr.HTML, problem: gr.HTML
) -> None:
    """The page opens as its address says.

    A pair is chosen first. The rest of the address waits in ``linked`` until the form has followed the pair.
    """
    kept = [KEEP] * len(form.filled)

    def opened() -> list[Any]:
        """The form as the page was built, with ``auto`` if its trials were made since."""
        asked = with_auto(engine, PAGE, opening.settings)
        words = KEEP if asked is None else f"{opening.note} {SAID}"
        return [*updates(None, asked, engine.limits), words, *[KEEP] * 3]

    def restore(request: gr.Request) -> list[Any]:
        try:
            found = read_query(dict(request.query_params), engine.limits, engine.pairs)
        except DsbdError as error:
            return [*kept, KEEP, alert(sentence(error)), KEEP, KEEP]
        if found is None:
            return opened()
        if found.pair not in (None, PAGE):
            return [*kept, KEEP, "", gr.update(choices=choices(engine), value=public_key(found.pair)), found]
        filled = updates(found.prompt, found.settings, engine.limits)
        return [*filled, f"{FILLED} {BESIDE}" if is_form(found) else KEEP, "", KEEP, KEEP]

    page.load(restore, None, [*form.filled, note, problem, form.pairs, linked], queue=False, **PRIVATE)
