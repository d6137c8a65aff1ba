"""What the tabs share: files of the page, parts with a script, sentences, kinds of events."""

import html
import json
import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError
from visualize.viewer.bundle import classic, joined, source

from .middleware import OWN

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""An event of the page that programs cannot call."""
BROKEN = "The run failed on the server. The page is ready for another one."
LONGEST_SENTENCE = 600
"""Characters of a message, which may quote what a visitor gave."""
_PATH = re.compile(
    r"""(?P<quote>['"`])(?P<quoted>(?:~?/|[A-Za-z]:[\\/])[^'"`]*[\\/][^'"`]*)(?P=quote)"""
    r"""|(?<![\w.:/\\~])(?P<bare>~?(?:/[^\s'"`:;,()<>/]+){2,}/?|[A-Za-z]:[\\/][^\s'"`:;,()<>]+)"""
)
"""A path from the root of a machine, not a web address or a hub id."""


def read(name: str) -> str:
    """Return a text file of the page."""
    return source(f"page/{name}")


@lru_cache
def page_script() -> str:
    """Return the unpacking, and ``page.js`` with the viewer, as one classic script."""
    return source("pages/unpack.js") + classic("page/page.js")


def scripted(value: str, template: str, script: str, elem_id: str, facts: Mapping[str, Any] | None = None) -> gr.HTML:
    """Return a part that a script draws. Its value is never read as markup, unless the template says ``${value}``.

    ``facts`` is plain data for the script; it goes where the template says ``{facts}``.
    """
    if facts is not None:
        signs = str.maketrans({sign: f"&#{ord(sign)};" for sign in "\\${`"})  # Gradio reads them as a template's
        template = template.replace("{facts}", html.escape(json.dumps(facts)).translate(signs))
    drawn = f"(() => {{\n{joined(f'page/{script}')}}})();"
    return gr.HTML(
        value, html_template=template, js_on_load=drawn, apply_default_css=False,
        head=f'<script src="{OWN.strip("/")}/page.js"></script>', elem_id=elem_id,
    )  # fmt: skip


def markup(value: str = "", elem_id: str | None = None) -> gr.HTML:
    """Return fixed or escaped markup."""
    return gr.HTML(value, js_on_load=None, apply_default_css=False, elem_id=elem_id)


def without_folders(words: str) -> str:
    """Return the sentence with only the last part of each path: libraries quote the paths that they read."""

    def last_part(match: re.Match[str]) -> str:
        quote, path = match["quote"] or "", match["quoted"] or match["bare"]
        last = re.split(r"[\\/]+", path.rstrip("/"))[-1]
        return f"{quote}{last}{quote}"

    return _PATH.sub(last_part, words)


def sentence(error: Exception) -> str:
    """Return an error as a visitor reads it: without folders, and from a capital letter to a full stop.

    An error that is no sentence is a bug of the page: it is logged.
    """
    if not isinstance(error, DsbdError):
        logging.error("a run failed", exc_info=error)
        return BROKEN
    words = without_folders(str(error))
    if len(words) > LONGEST_SENTENCE:
        words = f"{words[: LONGEST_SENTENCE - 2]} …"
    if not {"_", "."} & set(words.split(" ", 1)[0]):
        words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else words + "."


def alert(words: str) -> str:
    """Return markup that a screen reader speaks at once; the words are escaped."""
    return f'<p class="problem" role="alert">{html.escape(words)}</p>'
