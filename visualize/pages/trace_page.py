"""Writes stand-alone HTML pages with one or more viewers."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from dsbd.tracing.trace import Trace
from visualize.files import write
from visualize.forest import Source, load_trace
from visualize.pages.document import carried_kit, render, trace_element
from visualize.pages.live import FOLDER, live_element, live_kit, write_live


def export_html(
    source: Source | Sequence[Source],
    path: str | Path,
    *,
    language: str = "en",
    place: str = "",
    live: bool = False,
) -> None:
    """Write one HTML file with a viewer for each trace.

    Args:
        source: a trace, the path of a trace file, a recorded result, or a list of these.
        path: the HTML file to write.
        language: of the sentences and controls.
        place: where the viewers open, counted from 1: ``iteration=4&step=6``; empty = at the first step.
        live: put a form above the first viewer, in which a bundled pair decodes in the reader's browser. Its files go
            into the folder ``live`` beside the page; a browser runs them only from a server.

    Example:
        >>> visualize.export_html(trace, "page.html")

    Raises:
        TraceError: the source is no trace, or the file cannot be written.
        ValueError: ``language`` is unknown.
    """
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    page = html_page([load_trace(one) for one in sources], language=language, place=place, live=live)
    if live:
        write_live(Path(path).parent)
    write(path, page)


def html_page(
    traces: Sequence[Trace],
    *,
    language: str = "en",
    place: str = "",
    live: bool = False,
) -> str:
    """Return the page as a string.

    Args:
        traces: a viewer for each.
        language: of the sentences and controls.
        place: where the viewers open, counted from 1: ``iteration=4&step=6``.
        live: as for :func:`export_html`; the folder is written by ``write_live``.

    Raises:
        ValueError: ``language`` is unknown.
    """
    kit, form = carried_kit(), Markup()
    if live:
        kit, form = live_kit(kit, f"{FOLDER}/"), live_element(traces[0], f"{FOLDER}/", language)
    elements = [trace_element(trace, at) for at, trace in enumerate(traces)]
    title = " · ".join(dict.fromkeys(["DSBD", *(trace.settings.method for trace in traces)]))
    return render("trace.html", kit, language=language, title=title, traces=traces, elements=elements, form=form,
                  place=place)  # fmt: skip
