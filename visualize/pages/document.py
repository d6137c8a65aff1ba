"""The parts of every stand-alone page: templates, styles and scripts, compressed data and the viewer.

Pages are Jinja templates beside this file, which escape every value but ``Markup``, which is HTML already. A page loads
nothing from the network except what its assets allow.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from importlib import resources
from string import ascii_uppercase
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from dsbd.tracing.trace import Trace
from visualize.files import TEMPLATES
from visualize.viewer.bundle import viewer_assets
from visualize.words import Words

SCRIPTS = ("unpack.js", "viewer.js", "host.js", "keep.js")
STYLE_FILE = "style.css"
_STYLE = 'document.head.append(Object.assign(document.createElement("style"), {{textContent: {css}}}));'


@dataclass(frozen=True)
class PageAssets:
    """What a page needs for its viewer to work."""

    head: Markup  # styles
    body: Markup | str = ""  # the viewer and its host script; the code that starts them must follow
    has_files: bool = False  # True if scripts, style sheets and pictures are files beside the page
    fetches: bool = False  # True if the page fetches more from its own server


def render(template: str, assets: PageAssets, *, language: str = "en", **values: Any) -> str:
    """Return a page: a template filled with values, and with the words of a language."""
    values |= {"assets": assets, "language": language, "words": (words := Words(language))}
    return TEMPLATES.get_template(f"pages/{template}").render(values, is_rtl=words.table["direction"] == "rtl")


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


TEMPLATES.globals.update(
    letter=lambda index: ascii_uppercase[index % 26], script_of=lambda name: script(page_file(name))
)


def packed(text: str) -> str:
    """Compress text for a page with gzip, in base 64; ``unpack.js`` decompresses it. Equal texts give equal results.

    No character of base 64 means anything in HTML, so no token text can end the element around it. Half of a surrogate
    pair becomes an escape.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """Compress plain data as JSON."""
    return packed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def packed_element(name: str, content: str) -> Markup:
    """Return an element with compressed text, which the host script finds by name."""
    return Markup(f'<script type="application/gzip" id="{name}">{content}</script>')


def data_element(name: str, data: Any) -> Markup:
    """Return an element with this class and plain data, which a script fills."""
    return Markup(f'<div class="{name}"><script type="application/json">{htmlsafe_json_dumps(data)}</script></div>')


def trace_element(trace: Trace) -> Markup:
    """Return the element that holds the trace of the page's viewer."""
    return packed_element("dsbd-trace", packed_json(trace.to_dict()))


def inline_assets(*styles: str) -> PageAssets:
    """Return assets that are text inside the page."""
    assets = viewer_assets()
    css = _STYLE.format(css=json.dumps(assets["css"]))
    viewer = packed_element("dsbd-viewer", packed("\n".join([css, assets["js_classic"], page_file("host.js")])))
    return PageAssets(style(page_file("page.css"), *styles), viewer + "\n" + script(page_file("unpack.js")))


def linked_assets(folder: str, *styles: str) -> PageAssets:
    """Return assets that link to the files of :func:`shared_files`; ``folder`` is their address, with a slash."""
    sheet = Markup('<link rel="stylesheet" href="{}">').format(folder + STYLE_FILE)
    scripts = Markup().join(Markup('<script src="{}"></script>').format(folder + name) for name in SCRIPTS)
    return PageAssets(sheet + (style(*styles) if styles else ""), scripts, has_files=True)


def shared_files() -> dict[str, str]:
    """Return the files that the pages of a site share, by name."""
    assets = viewer_assets()
    files = {name: page_file(name) for name in ("unpack.js", "host.js", "keep.js", "deck.js")}
    return files | {"viewer.js": assets["js_classic"], STYLE_FILE: f"{assets['css']}\n{page_file('page.css')}"}
