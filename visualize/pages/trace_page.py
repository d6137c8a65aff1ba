"""Writes stand-alone HTML pages with one or more viewers; all viewers of a page share one Plotly."""

import html
from collections.abc import Sequence
from pathlib import Path

from visualize.files import write
from visualize.pages.document import document, script
from visualize.pages.live_files import FOLDER, write_live
from visualize.pages.live_parts import live_element, live_kit
from visualize.pages.plotly_script import PLOTLY_FILE, PlotlyFrom
from visualize.pages.viewer_parts import carried_kit, scene_element
from visualize.scenes.records import Scene
from visualize.scenes.source import Source, scene_of
from visualize.scenes.tokens import flowing
from visualize.viewer.bundle import plotly_js_path

START = script("dsbdReady.then(() => DsbdHost.start());\n")


def export_html(
    source: Source | Sequence[Source],
    path: str | Path,
    *,
    plotly: PlotlyFrom = "beside",
    language: str = "en",
    place: str = "",
    live: bool = False,
) -> None:
    """Write one HTML file with a viewer for each trace.

    Args:
        source: a trace, the path of a trace file, a recorded result, or a list of these.
        path: the HTML file to write.
        plotly: ``beside`` writes ``plotly.min.js`` next to it, ``inline`` puts it into the file (about 2 MB).
        language: of the sentences and controls.
        place: where the viewers open, counted from 1: ``iteration=4&step=6``; empty = at the first step.
        live: put a form above the first viewer, in which a bundled pair decodes in the reader's browser. Its files go
            into the folder ``live`` beside the page; a browser runs them only from a server.

    Example:
        >>> visualize.export_html(trace, "page.html", plotly="inline")

    Raises:
        TraceError: the source is no trace, or the file cannot be written.
        ValueError: ``plotly`` or ``language`` is unknown.
    """
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    scenes = [scene_of(entry, language) for entry in sources]
    if live:
        write_live(Path(path).parent)
    write_page(path, html_page(scenes, plotly=plotly, place=place, live=live), plotly)


def write_page(path: str | Path, page: str, plotly: str) -> None:
    """Write a page, and ``plotly.min.js`` next to it if ``plotly`` is ``beside``. Raises: TraceError."""
    write(path, page)
    if plotly == "beside":
        copy_plotly(Path(path).parent)


def copy_plotly(folder: Path) -> None:
    """Put ``plotly.min.js`` into a folder. Raises: TraceError."""
    write(folder / PLOTLY_FILE, plotly_js_path().read_bytes())


def html_page(
    scenes: Scene | Sequence[Scene],
    *,
    plotly: PlotlyFrom = "beside",
    place: str = "",
    live: bool = False,
) -> str:
    """Return the page as a string.

    Args:
        scenes: one viewer for each.
        plotly: as for :func:`export_html`, or ``shared`` with another frame of the same page.
        place: where the viewers open, counted from 1: ``iteration=4&step=6``.
        live: as for :func:`export_html`; the folder is written by ``write_live``.

    Raises:
        ValueError: ``plotly`` is unknown.
    """
    chosen = list(scenes) if isinstance(scenes, Sequence) else [scenes]
    names = " · ".join(dict.fromkeys(scene.title for scene in chosen if scene.title))
    kit = carried_kit(plotly)
    if live:
        kit = live_kit(kit, f"{FOLDER}/")
    heading = f"DSBD · {names}" if names else "DSBD"
    language = chosen[0].strings["language"] if chosen else "en"
    form = live_element(chosen[0], f"{FOLDER}/", language) if live else ""
    body = [
        f'<main><h1 class="around">{html.escape(heading)}</h1>{form}{_places(chosen, place)}</main>',
        *(f"<noscript><p>{html.escape(_text(scene))}</p></noscript>" for scene in chosen),
        *(scene_element(scene, at) for at, scene in enumerate(chosen)),
        kit.body,
        START,
    ]
    return document(heading, body, kit, language=language)


def _places(scenes: list[Scene], place: str) -> str:
    """Return an element for each viewer; a single viewer keeps its step in the address."""
    start = f' data-place="{html.escape(place)}"' if place else ""
    lone = ' id="viewer" data-address' if len(scenes) == 1 else ""
    return "".join(f'<div data-scene="dsbd-scene-{at}"{lone}{start}></div>' for at in range(len(scenes)))


def _text(scene: Scene) -> str:
    return "".join(scene.prompt) + (flowing(scene.result[0].text) if scene.result else "")
