"""What every stand-alone page is made of: templates, styles and scripts, packed data and the viewer.

Pages are Jinja templates beside this file, which escape what they are given; ``Markup`` is HTML already. A page loads
nothing from the network except what its kit allows.
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
class Kit:
    """The parts of a page that make its viewer work."""

    head: Markup
    """Styles."""
    body: Markup | str = ""
    """The viewer and its host script; code that starts them must follow."""
    files: bool = False
    """True if scripts, style sheets and pictures are files beside the page."""
    asks: bool = False
    """True if the page asks its own server for more."""


def render(template: str, kit: Kit, *, language: str = "en", **values: Any) -> str:
    """Return a page: a template filled with values and with the words of a language."""
    words = Words(language)
    is_rtl = words.table["direction"] == "rtl"
    return TEMPLATES.get_template(f"pages/{template}").render(
        kit=kit, language=language, words=words, is_rtl=is_rtl, **values
    )


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
    letter=lambda place: ascii_uppercase[place % 26],
    script_of=lambda name: script(page_file(name)),
)


def packed(text: str) -> str:
    """Pack text for a page: gzip in base 64, which ``unpack.js`` unpacks; equal texts give equal results.

    No character of base 64 means anything in HTML. So no token text can end the element around it. Half of a surrogate
    pair becomes an escape.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """Pack plain data as JSON."""
    return packed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def packed_element(name: str, content: str) -> Markup:
    """Return an element with packed text, which the host script finds by name."""
    return Markup(f'<script type="application/gzip" id="{name}">{content}</script>')


def data_element(name: str, data: Any) -> Markup:
    """Return an element of a class with plain data in it, for a script that fills it."""
    return Markup(f'<div class="{name}"><script type="application/json">{htmlsafe_json_dumps(data)}</script></div>')


def trace_element(trace: Trace) -> Markup:
    """Return the element with the trace of the page's viewer."""
    return packed_element("dsbd-trace", packed_json(trace.to_dict()))


def carried_kit(*styles: str) -> Kit:
    """Return the parts as text inside the page."""
    assets = viewer_assets()
    css = _STYLE.format(css=json.dumps(assets["css"]))
    viewer = packed_element("dsbd-viewer", packed("\n".join([css, assets["js_classic"], page_file("host.js")])))
    return Kit(style(page_file("page.css"), *styles), viewer + "\n" + script(page_file("unpack.js")))


def shared_kit(folder: str, *styles: str) -> Kit:
    """Return the parts as links to the files of :func:`kit_files`; ``folder`` is their address, with a slash."""
    sheet = Markup('<link rel="stylesheet" href="{}">').format(folder + STYLE_FILE)
    files = Markup().join(Markup('<script src="{}"></script>').format(folder + name) for name in SCRIPTS)
    return Kit(sheet + (style(*styles) if styles else ""), files, files=True)


def kit_files() -> dict[str, str]:
    """Return the files that the pages of a site share, by name."""
    assets = viewer_assets()
    files = {name: page_file(name) for name in ("unpack.js", "host.js", "keep.js", "deck.js")}
    return files | {"viewer.js": assets["js_classic"], STYLE_FILE: f"{assets['css']}\n{page_file('page.css')}"}
