"""Shows the viewer in a notebook: live, as a picture, or as text, whichever the notebook can show.

The HTML is a frame over a picture. If frames or scripts are removed (on a code host, on paper), the picture remains. If
HTML is not shown at all, the text is.
"""

import base64
import html
from dataclasses import dataclass
from typing import Any

from dsbd.results import brief
from dsbd.tracing.trace import Trace
from visualize.forest import Source, check_place, load_trace, steps_of
from visualize.pages.trace_page import html_page
from visualize.svg import forest_svg, forest_text
from visualize.words.words import Words

HEIGHT = 720
"""Pixels: enough for the whole decode, controls, forest and card."""


@dataclass(frozen=True)
class Shown:
    """A viewer that every notebook can show: as HTML with a live frame, as SVG, or as text."""

    __repr__ = brief

    trace: Trace
    iteration: int
    language: str
    height: int

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "image/svg+xml": self._svg(), "text/plain": self._text()}

    def _repr_html_(self) -> str:
        page = html_page([self.trace], language=self.language, place=self._finished())
        return _framed(page, self._svg(), self.height)

    def _finished(self) -> str:
        """Return the last step of the iteration: in a saved notebook the finished forest tells more than the first."""
        chosen = self.trace.iterations[self.iteration : self.iteration + 1]
        steps = sum(len(steps_of(one, self.trace.settings)) for one in chosen)
        return f"iteration={self.iteration + 1}&step={max(steps, 1)}"

    def _svg(self) -> str:
        return forest_svg(self.trace, self.iteration, language=self.language)

    def _text(self) -> str:
        return forest_text(self.trace, self.iteration if self.trace.iterations else None, language=self.language)


def show(
    source: Source,
    *,
    language: str = "en",
    iteration: int = 0,
    height: int = HEIGHT,
) -> Shown:
    """Show the viewer; to be the last line of a notebook cell. A notebook can have any number of viewers.

    Args:
        source: a trace, the path of a trace file, or a recorded result.
        language: of the sentences and controls.
        iteration: the iteration to open at, from 0; its forest is shown finished.
        height: of the frame, in pixels, 200 to 4000.

    Example:
        >>> visualize.show(trace, iteration=4)

    Raises:
        TraceError: the source is no trace, or has no such iteration.
        ValueError: ``language`` or ``height`` is out of range.
    """
    trace = load_trace(source)
    if trace.iterations:
        check_place("iteration", iteration, "this trace", len(trace.iterations))
    return Shown(trace, iteration, Words(language).language, check_height(height))


def _framed(page: str, svg: str, height: int) -> str:
    """Return HTML: a page in a frame over its picture, which is seen if the frame is removed."""
    picture = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    cell = "grid-area:1/1;width:100%;"
    return (
        '<div style="display:grid;grid-template-columns:minmax(0,1fr)">'
        f'<img alt="DSBD viewer: the forest of one iteration" src="data:image/svg+xml;base64,{picture}" '
        f'style="{cell}width:auto;max-width:100%;max-height:{height}px;background:#fff">'
        f'<iframe title="DSBD viewer" srcdoc="{html.escape(page)}" height="{height}" '
        f'style="{cell}height:{height}px;border:0;background:#fffffe;z-index:1" allowfullscreen></iframe></div>'
    )


def check_height(height: int) -> int:
    """Return the height of a frame in pixels, if it is allowed. Raises: ValueError."""
    if isinstance(height, bool) or not isinstance(height, int) or not 200 <= height <= 4000:
        raise ValueError(f"height is {height!r}; choose whole pixels from 200 to 4000")
    return height
