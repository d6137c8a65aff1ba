"""Makes the text that a teacher pastes into a notebook, a book, slides or a course to show a viewer there."""

import html
import json
import re
from pathlib import Path
from typing import Literal, get_args

from visualize.embed.notebook import HEIGHT, check_height
from visualize.pages import page_file
from visualize.pages.document import script
from visualize.pages.trace_page import html_page
from visualize.scenes.source import Source, scene_of

Kind = Literal["iframe", "jupyter", "myst", "quarto", "reveal", "moodle", "wordpress"]
_ADDRESS = re.compile(r"https?://\S+|(?!\w+:)\S+\.html?(#\S*)?", re.IGNORECASE)
SLIDE_HEIGHT = 620
"""Pixels of the frame on a slide, which shows a bare viewer."""
MOST_STEPS = 200
_STEP = '<span class="fragment dsbd-step"></span>'


def embed_snippet(
    source: Source,
    kind: Kind = "iframe",
    *,
    title: str = "DSBD viewer",
    height: int | None = None,
    iteration: int = 0,
    step: int = 0,
    steps: int = 12,
    language: str = "en",
) -> str:
    """Return text that shows a viewer at the place where it is pasted.

    An address gives a short snippet. A trace gives one with the whole viewer (about 2 MB), or, for ``jupyter``,
    ``myst`` and ``quarto``, which run code, a cell that reads the trace file.

    Args:
        source: the address of a page of a static site (``https://…`` or ``….html``), or a trace, the path of a trace
            file or a recorded result.
        kind: ``iframe`` (any HTML page), ``jupyter``, ``myst``, ``quarto``, ``reveal``, ``moodle`` or ``wordpress``.
        title: the name of the frame, for screen readers.
        height: of the frame, in pixels, 200 to 4000; None = 620 on a slide, which shows only sentence, forest and card,
            and 720 elsewhere.
        iteration: the iteration that the viewer opens at, from 0.
        step: the step of that iteration, from 0.
        steps: for ``reveal``: how many clicks of the presenter move the viewer, 0 to 200.
        language: of a viewer made from a trace.

    Example:
        >>> visualize.embed_snippet("https://example.org/forests/1.html", "myst")

    Raises:
        TraceError: the source is no trace.
        ValueError: a value is out of range, or ``kind`` needs the path of a trace file or an address.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(get_args(Kind))}")
    for name, value, most in (("iteration", iteration, 10**6), ("step", step, 10**6), ("steps", steps, MOST_STEPS)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} is {value!r}; choose a whole number from 0 to {most}")
    deck = kind == "reveal"
    height = check_height((SLIDE_HEIGHT if deck else HEIGHT) if height is None else height)
    place = f"iteration={iteration + 1}&step={step + 1}" if iteration or step else ""
    address = _address(source, place, bare=deck)
    if kind in ("jupyter", "myst", "quarto"):
        return _cell(kind, source, address, title, height, iteration, language)
    page = None if address else html_page(scene_of(source, language), plotly="inline", place=place, bare=deck)
    frame = _frame(address, page, title, height, deck=deck)
    if deck:
        opening = f'<section data-dsbd-it="{iteration}" data-dsbd-step="{step}">'
        return f"{opening}\n{frame}\n{_STEP * steps}\n</section>\n{script(page_file('deck.js'))}\n"
    return f"<!-- wp:html -->\n{frame}\n<!-- /wp:html -->\n" if kind == "wordpress" else frame + "\n"


def file_cell(name: str, *, title: str = "DSBD viewer", height: int = HEIGHT) -> str:
    """Return a notebook cell that takes a whole page into the notebook: after a run it needs no file and no server.

    Args:
        name: of the page's HTML file beside the notebook; it must load nothing (``plotly="inline"``).
        title: the name of the frame, for screen readers.
        height: of the frame, in pixels, 200 to 4000.

    Raises:
        ValueError: ``height`` is out of range.
    """
    frame = (
        f' title="{html.escape(title)}" width="100%" height="{check_height(height)}" style="border:0" allowfullscreen'
    )
    return (
        "from html import escape\nfrom pathlib import Path\n\nfrom IPython.display import HTML\n\n"
        f'page = escape(Path({json.dumps(name)}).read_text(encoding="utf-8"))\n'
        f"""HTML('<div><iframe srcdoc="' + page + {f'"{frame}></iframe></div>'!r})\n"""
    )


def _address(source: Source, place: str, *, bare: bool) -> str | None:
    """Return the source with the place if it is the address of a page; None if it is a trace."""
    if not isinstance(source, str) or not _ADDRESS.fullmatch(source):
        return None
    page, _, asked = source.partition("#")
    page += "?bare" if bare and "?" not in page else ""
    return f"{page}#{asked or place}" if asked or place else page


def _frame(address: str | None, page: str | None, title: str, height: int, *, deck: bool) -> str:
    origin = f'src="{html.escape(address)}"' if address else f'srcdoc="{html.escape(page or "")}"'
    mark = ' class="dsbd-frame"' if deck else ' loading="lazy"'
    return (
        f'<iframe {origin} title="{html.escape(title)}" width="100%" height="{height}" style="border:0"{mark} '
        "allowfullscreen></iframe>"
    )


def _cell(
    kind: str, source: Source, address: str | None, title: str, height: int, iteration: int, language: str
) -> str:
    """Return a code cell that reads a trace file, or the frame of an address as that kind of page writes it."""
    if address is not None:
        frame = _frame(address, None, title, height, deck=False)
        shown = f'IFrame({json.dumps(address)}, width="100%", height={height})'
        return {
            "jupyter": f"from IPython.display import IFrame\n\n{shown}\n",
            "myst": f":::{{iframe}} {address}\n:width: 100%\n{' '.join(title.split())}\n:::\n",
            "quarto": f"```{{=html}}\n{frame}\n```\n",
        }[kind]
    if not isinstance(source, (str, Path)):
        raise ValueError(f"{kind} needs the path of a trace file or an address; save the trace first")
    scene_of(source, language)
    options = f", iteration={iteration}" if iteration else ""
    options += f", language={json.dumps(language)}" if language != "en" else ""
    code = f"import visualize\n\nvisualize.show({json.dumps(str(source))}{options}, height={height})\n"
    cells = {"jupyter": code, "myst": f"```{{code-cell}} python\n{code}```\n", "quarto": f"```{{python}}\n{code}```\n"}
    return cells[kind]
