"""oEmbed for a static site: what a page that is pasted as a link into another site says about its frame."""

import html
import json
from typing import Any

WIDTH, HEIGHT = 1100, 860
"""Pixels of the frame that is offered."""


def oembed(title: str, *, site: str, base_url: str, page: str) -> dict[str, Any]:
    """The oEmbed answer (version 1.0, type rich) for one page.

    Args:
        title: of the page.
        site: title of the site.
        base_url: address of the site, ending in a slash; empty where it is not known, and addresses are relative then.
        page: address of the page below the site.
    """
    return {
        "version": "1.0",
        "type": "rich",
        "title": title,
        "provider_name": site,
        "provider_url": base_url,
        "width": WIDTH,
        "height": HEIGHT,
        "html": frame(base_url + page, title),
    }


def frame(address: str, title: str) -> str:
    """The frame of a page."""
    return (
        f'<iframe src="{html.escape(address)}" title="{html.escape(title)}" width="{WIDTH}" height="{HEIGHT}" '
        'style="border:0;max-width:100%" loading="lazy" allowfullscreen></iframe>'
    )


def oembed_text(answer: dict[str, Any]) -> str:
    """As the content of a file."""
    return json.dumps(answer, ensure_ascii=False, indent=1) + "\n"
