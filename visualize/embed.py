"""Makes the text that a teacher pastes into a notebook, a book, slides or a course to show a viewer there."""

import html
import json
import re
from typing import Literal, get_args

from visualize.notebook import HEIGHT, check_height
from visualize.pages.document import page_file, script

Kind = Literal["iframe", "jupyter", "myst", "quarto", "reveal", "moodle", "wordpress"]
_ADDRESS = re.compile(r"https?://\S+|(?!\w+:)\S+\.html?(#\S*)?", re.IGNORECASE)
SLIDE_HEIGHT = 620
"""Pixels of the frame on a slide, which shows a bare viewer."""
MOST_STEPS = 200
_STEP = '<span class="fragment dsbd-step"></span>'


def embed_snippet(
    address: str,
    kind: Kind = "iframe",
    *,
    title: str = "DSBD viewer",
    height: int | None = None,
    iteration: int = 0,
    step: int = 0,
    steps: int = 12,
) -> str:
    """Return text that shows a page with a viewer at the place where the text is pasted.

    Args:
        address: of the page: one that :func:`visualize.export_html` or :func:`visualize.export_site` wrote.
        kind: ``iframe`` (any HTML page), ``jupyter``, ``myst``, ``quarto``, ``reveal``, ``moodle`` or ``wordpress``.
        title: the name of the frame, for screen readers.
        height: of the frame, in pixels, 200 to 4000; None = 620 on a slide, which shows only sentence, forest and card,
            and 720 elsewhere.
        iteration: the iteration that the viewer opens at, from 0.
        step: the step of that iteration, from 0.
        steps: for ``reveal``: how many clicks of the presenter move the viewer, 0 to 200.

    Example:
        >>> visualize.embed_snippet("https://example.org/forests/1.html", "myst")

    Raises:
        ValueError: a value is out of range, or ``address`` is not that of a page.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(get_args(Kind))}")
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ValueError(f"address is {address!r}; write that of a page: https://… or ….html")
    for name, value, most in (("iteration", iteration, 10**6), ("step", step, 10**6), ("steps", steps, MOST_STEPS)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} is {value!r}; choose a whole number from 0 to {most}")
    deck = kind == "reveal"
    height = check_height((SLIDE_HEIGHT if deck else HEIGHT) if height is None else height)
    page, _, place = address.partition("#")
    page += "?bare" if deck and "?" not in page else ""
    place = place or (f"iteration={iteration + 1}&step={step + 1}" if iteration or step else "")
    shown = f"{page}#{place}" if place else page
    mark = ' class="dsbd-frame"' if deck else ' loading="lazy"'
    frame = f'<iframe src="{html.escape(shown)}"{_look(title, height, mark)}></iframe>'
    match kind:
        case "jupyter":
            call = f'IFrame({json.dumps(shown)}, width="100%", height={height})'
            return f"from IPython.display import IFrame\n\n{call}\n"
        case "myst":
            return f":::{{iframe}} {shown}\n:width: 100%\n{' '.join(title.split())}\n:::\n"
        case "quarto":
            return f"```{{=html}}\n{frame}\n```\n"
        case "reveal":
            opening = f'<section data-dsbd-it="{iteration}" data-dsbd-step="{step}">'
            return f"{opening}\n{frame}\n{_STEP * steps}\n</section>\n{script(page_file('deck.js'))}\n"
        case "wordpress":
            return f"<!-- wp:html -->\n{frame}\n<!-- /wp:html -->\n"
    return f"{frame}\n"


def file_cell(name: str, *, title: str = "DSBD viewer", height: int = HEIGHT) -> str:
    """Return a notebook cell that takes a whole page into the notebook: after a run it needs no file and no server.

    Args:
        name: of the page's HTML file beside the notebook; it must load nothing, as those of ``export_html``.
        title: the name of the frame, for screen readers.
        height: of the frame, in pixels, 200 to 4000.

    Raises:
        ValueError: ``height`` is out of range.
    """
    end = f'"{_look(title, check_height(height))}></iframe></div>'
    return (
        "from html import escape\nfrom pathlib import Path\n\nfrom IPython.display import HTML\n\n"
        f'page = escape(Path({json.dumps(name)}).read_text(encoding="utf-8"))\n'
        f"""HTML('<div><iframe srcdoc="' + page + {end!r})\n"""
    )


def _look(title: str, height: int, mark: str = "") -> str:
    """Return the attributes of a frame, except its address."""
    size = f'width="100%" height="{height}" style="border:0"'
    return f' title="{html.escape(title)}" {size}{mark} allowfullscreen'
