"""What every stand-alone page is made of: templates, styles and scripts, packed data, Plotly and the viewer.

Pages are Jinja templates beside this file, which escape what they are given; ``Markup`` is HTML already. A page loads
nothing from the network except what its kit allows.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from dsbd.tracing.trace import Trace
from visualize.files import write
from visualize.scenes.build import build_scene
from visualize.scenes.to_json import scene_json
from visualize.viewer.bundle import plotly_js_path, viewer_assets
from visualize.words.words import Words

PlotlyFrom = Literal["beside", "inline", "shared"]
PLOTLY_FILE, VIEWER_FILE, STYLE_FILE = "plotly.min.js", "viewer.js", "style.css"
_STYLE = 'document.head.append(Object.assign(document.createElement("style"), {{textContent: {css}}}));'
_TEMPLATES = Environment(
    loader=PackageLoader("visualize", "pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip


@dataclass(frozen=True)
class Kit:
    """The parts of a page that make its viewers work."""

    head: Markup
    """Styles and Plotly."""
    body: Markup | str = ""
    """The viewer and its host script; code that starts them must follow."""
    scripts: str = ""
    """Script sources that the page's policy must allow; starts with a space."""
    files: bool = False
    """True if style sheets and pictures are files beside the page."""
    asks: bool = False
    """True if the page asks its own server for more."""


def render(template: str, kit: Kit, *, language: str = "en", **values: Any) -> str:
    """Return a page: a template filled with values and with the words of a language."""
    words = Words(language)
    is_rtl = words.table["direction"] == "rtl"
    return _TEMPLATES.get_template(template).render(kit=kit, language=language, words=words, is_rtl=is_rtl, **values)


def page_file(name: str) -> str:
    """Return the text of a file in this folder."""
    return (resources.files("visualize.pages") / name).read_text(encoding="utf-8")


def style(*sources: str) -> Markup:
    """Return a style element."""
    return Markup("<style>\n" + "\n".join(sources) + "</style>")


def script(source: str) -> Markup:
    """Return a script element; character sequences that would end it are escaped."""
    safe = source.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(f"<script>\n{safe}</script>")


_TEMPLATES.globals.update(
    letter=lambda place: ascii_uppercase[place % 26],
    script_of=lambda *names: Markup("\n").join(script(page_file(name)) for name in names),
    style_of=lambda *names: style(*map(page_file, names)),
)


def packed(text: str) -> str:
    """Pack text for a page: gzip in base 64, which ``unpack.js`` unpacks; equal texts give equal results.

    No character of base 64 means anything in HTML. So no token text can end the element around it.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """Pack plain data as JSON; half of a surrogate pair is written as an escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def packed_element(name: str, content: str) -> Markup:
    """Return an element with packed text, which the host script finds by name."""
    return Markup(f'<script type="application/gzip" id="{name}">{content}</script>')


def data_element(name: str, data: Any) -> Markup:
    """Return an element of a class with plain data in it, for a script that fills it."""
    return Markup(f'<div class="{name}"><script type="application/json">{htmlsafe_json_dumps(data)}</script></div>')


def trace_element(trace: Trace, place: int = 0, language: str = "en") -> Markup:
    """Return the element with the data of a viewer, by its place on the page."""
    return packed_element(f"dsbd-scene-{place}", packed_json(scene_json(build_scene(trace, language=language))))


def plotly_tag(origin: PlotlyFrom) -> Markup:
    """Return the element that brings Plotly to a page. Raises: ValueError.

    ``beside`` is a file next to the page, ``inline`` is packed into it (about 2 MB), and ``shared`` is the one in
    another viewer's frame on the same page.
    """
    if origin not in get_args(PlotlyFrom):
        raise ValueError(f"plotly is {origin!r}; choose one of {', '.join(map(repr, get_args(PlotlyFrom)))}")
    if origin == "beside":
        return Markup(f'<script src="{PLOTLY_FILE}"></script>')
    content, mark = (_packed_plotly(), "") if origin == "inline" else ("", ' data-from="page"')
    return Markup(f'<script type="application/gzip" id="dsbd-plotly"{mark}>{content}</script>')


@lru_cache
def _packed_plotly() -> str:
    return packed(plotly_js_path().read_text(encoding="utf-8"))


def carried_kit(plotly: PlotlyFrom, *styles: str) -> Kit:
    """Return the parts as text inside the page. Raises: ValueError for an unknown ``plotly``."""
    assets = viewer_assets()
    css = _STYLE.format(css=json.dumps(assets["css"]))
    viewer = packed_element("dsbd-viewer", packed("\n".join([css, assets["js_classic"], page_file("host.js")])))
    head = style(page_file("page.css"), *styles) + "\n" + plotly_tag(plotly)
    body = viewer + "\n" + script(page_file("unpack.js"))
    return Kit(head, body, " 'self' file:" if plotly == "beside" else "")


def shared_kit(folder: str, *styles: str) -> Kit:
    """Return the parts as links to the files of :func:`write_kit`; ``folder`` is their address, with a slash."""
    sheet = Markup('<link rel="stylesheet" href="{}">').format(folder + STYLE_FILE)
    names = (PLOTLY_FILE, "unpack.js", VIEWER_FILE, "host.js")
    files = Markup().join(Markup('<script src="{}"></script>').format(folder + name) for name in names)
    return Kit(sheet + (style(*styles) if styles else ""), files, " 'self' file:", files=True)


def write_kit(folder: Path, *styles: str) -> None:
    """Write the files that the pages of a site share, Plotly included. Raises: TraceError."""
    assets = viewer_assets()
    copy_plotly(folder)
    write(folder / VIEWER_FILE, assets["js_classic"])
    for name in ("unpack.js", "host.js", "deck.js"):
        write(folder / name, page_file(name))
    write(folder / STYLE_FILE, "\n".join([assets["css"], page_file("page.css"), *styles]))


def write_page(path: str | Path, page: str, plotly: str) -> None:
    """Write a page, and ``plotly.min.js`` next to it if ``plotly`` is ``beside``. Raises: TraceError."""
    write(path, page)
    if plotly == "beside":
        copy_plotly(Path(path).parent)


def copy_plotly(folder: Path) -> None:
    """Put ``plotly.min.js`` into a folder. Raises: TraceError."""
    write(folder / PLOTLY_FILE, plotly_js_path().read_bytes())
