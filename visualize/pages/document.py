"""The parts of every stand-alone page: templates, styles and scripts, compressed data and the viewer.

Pages are Jinja templates beside this file, which escape every value but ``Markup``, which is HTML already. A page loads
nothing from the network except files of its own site, where it has one.
"""

import base64
import gzip
import json
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from markupsafe import Markup

from visualize.files import TEMPLATES
from visualize.viewer.bundle import source, viewer_assets
from visualize.words import Words

_STYLE = 'document.head.append(Object.assign(document.createElement("style"), {{textContent: {css}}}));'


def render(template: str, *, folder: str = "", live: str = "", language: str = "en", **values: Any) -> str:
    """Return a page: a template filled with values, and with the words of a language.

    Args:
        template: file in this folder.
        folder: address of the files of :func:`shared_files`, with a slash; empty = the page carries what it needs.
        live: address of the files of a decoder in the browser, with a slash; empty = the page has none.
        language: of the words.
        values: what the template names.
    """
    words = Words(language)
    values |= {"folder": folder, "live": live, "language": language, "words": words}
    return TEMPLATES.get_template(f"pages/{template}").render(values, is_rtl=words.table["direction"] == "rtl")


def script(name: str) -> Markup:
    """Return a script element with a file below ``visualize``; character sequences that would end it are escaped."""
    safe = source(name).replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(f"<script>\n{safe}</script>")


def packed(text: str) -> str:
    """Compress text for a page with gzip, in base 64; ``unpack.js`` decompresses it. Equal texts give equal results.

    No character of base 64 means anything in HTML, so no token text can end the element around it. Half of a surrogate
    pair becomes an escape.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 9, mtime=0)).decode("ascii")


def packed_json(data: Any) -> str:
    """Compress plain data as JSON."""
    return packed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def fragment(template: str, **values: Any) -> Markup:
    """Return a part of a page: a template of this folder filled with values."""
    return Markup(TEMPLATES.get_template(f"pages/{template}").render(values))


@lru_cache(maxsize=1)
def carried_viewer() -> str:
    """Return the viewer and its host script, compressed, for a page that carries them."""
    assets = viewer_assets()
    css = _STYLE.format(css=json.dumps(assets["css"]))
    return packed("\n".join([css, assets["js_classic"], source("pages/host.js")]))


def shared_files() -> dict[str, str]:
    """Return the files that the pages of a site share, by name."""
    assets = viewer_assets()
    files = {name: source(f"pages/{name}") for name in ("unpack.js", "host.js", "keep.js", "deck.js")}
    return files | {"viewer.js": assets["js_classic"], "style.css": f"{assets['css']}\n{source('pages/page.css')}"}


TEMPLATES.globals.update(
    letter=lambda index: ascii_uppercase[index % 26], text_of=lambda name: Markup(source(name)),
    script_of=script, packed_json=packed_json, carried_viewer=carried_viewer,
)  # fmt: skip
