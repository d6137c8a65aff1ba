"""The parts that a page needs to show viewers: inside the page, or in files that the pages of a site share."""

import json
from pathlib import Path

from visualize.files import write
from visualize.pages import page_file
from visualize.pages.compressed import packed, packed_json
from visualize.pages.document import Kit, packed_element, script, style
from visualize.pages.plotly_script import PLOTLY_FILE, PlotlyFrom, plotly_origins, plotly_tag
from visualize.scenes.records import Scene
from visualize.viewer.bundle import viewer_assets

UNPACK_FILE, VIEWER_FILE, HOST_FILE, DECK_FILE, STYLE_FILE = "unpack.js", "viewer.js", "host.js", "deck.js", "style.css"

SCRIPTS = (PLOTLY_FILE, UNPACK_FILE, VIEWER_FILE, HOST_FILE)
_STYLE = 'document.head.append(Object.assign(document.createElement("style"), {{textContent: {css}}}));'


def carried_kit(plotly: PlotlyFrom, *styles: str) -> Kit:
    """Return the parts as text inside the page. Raises: ValueError for an unknown ``plotly``."""
    assets = viewer_assets()
    head = style(page_file("page.css"), *styles) + "\n" + plotly_tag(plotly)
    viewer = packed(
        "\n".join([_STYLE.format(css=json.dumps(assets["css"])), assets["js_classic"], page_file("host.js")])
    )
    body = packed_element("dsbd-viewer", viewer) + "\n" + script(page_file("unpack.js"))
    return Kit(head, body, plotly_origins(plotly))


def scene_element(scene: Scene, place: int = 0) -> str:
    """Return the element with the trace of a viewer, by its place on the page."""
    assert scene.trace is not None, "a page shows whole traces"
    return packed_element(f"dsbd-scene-{place}", packed_json(scene.trace.to_dict()))


def shared_kit(folder: str, *styles: str) -> Kit:
    """Return the parts as links to the files of :func:`write_kit`; ``folder`` is their address, with a slash."""
    sheet = f'<link rel="stylesheet" href="{folder}{STYLE_FILE}">'
    files = "".join(f'<script src="{folder}{name}"></script>' for name in SCRIPTS)
    return Kit(sheet + (style(*styles) if styles else ""), files, " 'self' file:", files=True)


def write_kit(folder: Path, *styles: str) -> None:
    """Write the files that the pages of a site share, except Plotly. Raises: TraceError."""
    assets = viewer_assets()
    write(folder / VIEWER_FILE, assets["js_classic"])
    for name in (UNPACK_FILE, HOST_FILE, DECK_FILE):
        write(folder / name, page_file(name))
    write(folder / STYLE_FILE, "\n".join([assets["css"], page_file("page.css"), *styles]))
