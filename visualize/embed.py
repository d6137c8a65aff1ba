"""Shows a viewer elsewhere: in a notebook, or by a snippet that a teacher pastes into a book, slides or a course.

A notebook gets HTML: a frame over a picture. Where frames or scripts are removed (on a code host, on paper), the
picture remains; where HTML is not shown at all, the text is.
"""

import base64
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from markupsafe import Markup

from dsbd.errors import ArgumentError
from dsbd.results import brief
from dsbd.tracing.trace import Trace
from visualize.forest import Source, check_index, load_trace, steps_of
from visualize.pages.document import fragment
from visualize.pages.site import html_page
from visualize.svg import forest_svg, forest_text
from visualize.words import Words

Kind = Literal["iframe", "jupyter", "reveal"]
_ADDRESS = re.compile(r"https?://\S+|(?!\w+:)\S+\.html?(#\S*)?", re.IGNORECASE)
SLIDE_HEIGHT = 620  # pixels of the frame on a slide, which shows only sentence, forest and card
LEAST_HEIGHT, MOST_HEIGHT, MOST_STEPS = 200, 4000, 200
HEIGHT = 720  # pixels of other frames, which show the whole decode and the controls too


@dataclass(frozen=True)
class Shown:
    """A viewer that every notebook can show: as HTML with a live frame, as SVG, or as text."""

    __repr__ = brief

    trace: Trace
    iteration: int
    language: str
    height: int

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        text = forest_text(self.trace, self.iteration if self.trace.iterations else None, language=self.language)
        return {"text/html": self._repr_html_(), "image/svg+xml": self._svg(), "text/plain": text}

    def _repr_html_(self) -> str:
        """Return the viewer at the end of the iteration: in a saved notebook, the finished forest says the most."""
        iterations = self.trace.iterations[self.iteration : self.iteration + 1]
        steps = sum(len(steps_of(one, self.trace.settings)) for one in iterations)
        place = f"iteration={self.iteration + 1}&step={max(steps, 1)}"
        page, svg = html_page(self.trace, language=self.language, place=place), self._svg()
        picture = base64.b64encode(svg.encode("utf-8")).decode("ascii")
        return str(fragment("frame.html", page=page, picture=picture, height=self.height))

    def _svg(self) -> str:
        return forest_svg(self.trace, self.iteration, language=self.language)


def show(source: Source, *, language: str = "en", iteration: int = 0, height: int = HEIGHT) -> Shown:
    """Show the viewer, as the last line of a notebook cell. A notebook can have any number of viewers.

    Args:
        source: a trace, the path of a trace file, or a recorded result.
        language: of the sentences and controls.
        iteration: the iteration to open at, from 0; the viewer opens at its last step.
        height: of the frame, in pixels, 200 to 4000.

    Example:
        >>> visualize.show(trace, iteration=4)

    Raises:
        TraceError: the source is no trace, or has no such iteration.
        ArgumentError: ``language`` or ``height`` is out of range.
    """
    trace = load_trace(source)
    if trace.iterations:
        check_index("iteration", iteration, "this trace", len(trace.iterations))
    check_whole("height", height, LEAST_HEIGHT, MOST_HEIGHT)
    return Shown(trace, iteration, Words(language).language, height)


def check_whole(name: str, value: int, least: int, most: int) -> None:
    """Raises: ArgumentError: the value is no whole number of this range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(f"{name} is {value!r}; choose a whole number from {least} to {most}")


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
    """Return a snippet that shows a page with a viewer wherever it is pasted.

    Args:
        address: of the page: one that :func:`visualize.export_html` or :func:`visualize.export_site` wrote.
        kind: ``iframe`` (any HTML page), ``jupyter`` or ``reveal`` (a slide). docs/teaching.md has other places.
        title: the name of the frame, for screen readers.
        height: of the frame, in pixels, 200 to 4000; None = 620 on a slide, which shows only sentence, forest and card,
            and 720 elsewhere.
        iteration: the iteration to open at, from 0.
        step: the step of that iteration, from 0.
        steps: for ``reveal``: how many clicks of the presenter step the viewer, 0 to 200.

    Example:
        >>> visualize.embed_snippet("https://example.org/forests/1.html", "reveal")

    Raises:
        ArgumentError: a value is out of range, or ``address`` is not that of a page.
    """
    if kind not in get_args(Kind):
        raise ArgumentError(f"kind is {kind!r}; choose one of {', '.join(get_args(Kind))}")
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ArgumentError(f"address is {address!r}; write that of a page: https://… or ….html")
    deck = kind == "reveal"
    height = (SLIDE_HEIGHT if deck else HEIGHT) if height is None else height
    check_whole("height", height, LEAST_HEIGHT, MOST_HEIGHT)
    for name, value, most in (("iteration", iteration, 10**6), ("step", step, 10**6), ("steps", steps, MOST_STEPS)):
        check_whole(name, value, 0, most)
    page, _, place = address.partition("#")
    page += "?bare" if deck and "?" not in page else ""
    place = place or (f"iteration={iteration + 1}&step={step + 1}" if iteration or step else "")
    url = f"{page}#{place}" if place else page
    values = {"url": url, "json": Markup(json.dumps(url)), "title": title, "height": height, "iteration": iteration}
    return f"{fragment('snippet.html', kind=kind, step=step, steps=steps, **values).strip()}\n"
