"""Makes one HTML document: head, policy and elements. HTML that is passed in must be escaped already."""

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from visualize.words.words import Words

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_DOCUMENT = """<!doctype html>
<html lang="{language}"{direction}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {asking}script-src 'unsafe-inline'{scripts}; \
style-src 'unsafe-inline'{files}; img-src data: blob:{files}; font-src data:; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Kit:
    """The parts of a page that make its viewers or charts work."""

    head: str
    """Styles and Plotly."""
    body: str = ""
    """The viewer and its host script; code that starts them must follow."""
    scripts: str = ""
    """Script sources that the page's policy must allow; starts with a space."""
    files: bool = False
    """True if style sheets and pictures are files beside the page."""
    asks: bool = False
    """True if the page asks its own server for more."""


def document(title: str, body: Iterable[str], kit: Kit, *, language: str = "en", head: str = "") -> str:
    """Return an HTML document that loads nothing from the network except what its kit allows.

    Args:
        title: plain text.
        body: HTML, with the body of the kit.
        kit: what the page needs.
        language: of its text; it must have a table of sentences.
        head: more HTML for the head.
    """
    return _DOCUMENT.format(
        language=html.escape(language),
        direction=' dir="rtl"' if Words(language).table["direction"] == "rtl" else "",
        asking="connect-src 'self'; " if kit.asks else "",
        scripts=kit.scripts,
        files=" 'self' file:" if kit.files else "",
        title=html.escape(title),
        head=kit.head + head,
        body="\n".join(body),
    )


def style(*sources: str) -> str:
    """Return a style element."""
    return "<style>\n" + "\n".join(sources) + "</style>"


def script(source: str) -> str:
    """Return a script element; character sequences that would end it are escaped."""
    safe = source.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"<script>\n{safe}</script>"


def packed_element(name: str, content: str) -> str:
    """Return an element with packed text (``visualize.pages.compressed``), which the host script finds by name."""
    return f'<script type="application/gzip" id="{name}">{content}</script>'


def embedded_json(data: Any) -> str:
    """Return JSON that cannot end the script element around it, whatever its strings hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return "".join(_ESCAPES.get(character, character) for character in text)
