"""The parts of the page that have a script, which is in this folder.

The parts that draw have a fixed template, and their value is a message of ``decodes/messages.py``, which the script
draws; no value is ever read as markup.
"""

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from .files import read, script_tags


def forest_viewer(value: str) -> gr.HTML:
    """The forest, step by step. Value: ``whole_scene`` or ``more_scene``."""
    return _scripted(value, '<div class="forest-mount"></div>', "forest.js", "forest")


def masthead() -> gr.HTML:
    """The name, the languages, light and dark; its script also gives each tab an address."""
    return _scripted("", read("parts/masthead.html"), "masthead.js", "masthead")


def drawer_switch() -> gr.HTML:
    """A button that opens the element ``drawer``."""
    return markup(read("parts/drawer_switch.html"), "gear", script=f"(() => {{\n{read('parts/drawer.js')}}})();")


def live_run(data: Mapping[str, Any]) -> gr.HTML:
    """A button that decodes in the visitor's browser.

    ``data`` is plain: the address of the files, the bundled pairs by their key, and the fields of the form.
    """
    given = html.escape(json.dumps(data))
    template = f'<div data-live="{given}"><button type="button">Run in my browser</button></div><p role="status"></p>'
    return _scripted("", template, "live.js", "live")


def running_line(value: str) -> gr.HTML:
    """The text, token by token. Value: ``messages.text``."""
    template = '<p class="running-line" translate="no" dir="auto" aria-label="Prompt and generated text"></p>'
    return _scripted(value, template, "text.js", "text")


def chart_list(value: str, elem_id: str) -> gr.HTML:
    """Charts below each other. Value: ``messages.figures``."""
    return _scripted(value, '<div class="figures-mount"></div>', "figures.js", elem_id)


def plotly_figures(elem_id: str) -> gr.HTML:
    """Figures with Plotly's tools and frames. Value: ``messages.live_figures``."""
    return _scripted("", '<div class="plotly-mount"></div>', "plotly_view.js", elem_id)


def race_stage(value: str) -> gr.HTML:
    """A race: lanes, texts and table. Value: markup of ``race/markup.py``, escaped there; the script plays it."""
    return _scripted(value, '<div class="race-mount"></div>', "race.js", "race-stage")


def problem_line(elem_id: str) -> gr.HTML:
    """What went wrong. Value: empty, or markup of ``sentences.alert``. The script moves Gradio's toasts here too."""
    return _scripted("", "${value}", "toasts.js", elem_id)


def _scripted(value: str, template: str, script: str, elem_id: str) -> gr.HTML:
    return gr.HTML(
        value,
        html_template=template,
        js_on_load=f"(() => {{\n{read(f'parts/{script}')}}})();",
        head=script_tags(),
        apply_default_css=False,
        elem_id=elem_id,
    )


def figures_table(label: str, heads: Sequence[str], rows: str) -> str:
    """Markup of a table that scrolls by itself. ``rows`` is markup."""
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return (
        f'<div class="table-holder" tabindex="0" role="region" aria-label="{label}"><table class="figures-table">'
        f"<thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def markup(value: str = "", elem_id: str | None = None, script: str | None = None) -> gr.HTML:
    """Fixed or escaped markup."""
    return gr.HTML(value, js_on_load=script, apply_default_css=False, elem_id=elem_id)
