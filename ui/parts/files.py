"""The page's own files: markup, style sheets and scripts, each in the room that it belongs to."""

import hashlib
from functools import lru_cache
from importlib import resources

from visualize import viewer_assets
from visualize.pages import page_file

PAGE_PACKAGE = __package__.rpartition(".")[0]
"""``ui`` in a clone, ``dsbd_page`` once installed."""
FOLDER = "gradio_api/dsbd"
"""Addresses of the page's own files. Gradio's Node server passes what begins with ``/gradio_api`` on to the page."""
LEARN = f"{FOLDER}/learn/"
"""Addresses of the lessons and recordings as pages of their own."""


def read(name: str) -> str:
    """A text file of the page, by its room and name, as ``play/marks.html``."""
    return (resources.files(PAGE_PACKAGE) / name).read_text(encoding="utf-8")


@lru_cache
def page_script() -> str:
    """The viewer, the unpacking and what the drawing parts share, one classic script."""
    return viewer_assets()["js_classic"] + page_file("unpack.js") + read("parts/page.js")


@lru_cache
def script_tags() -> str:
    """The script that the drawing parts wait for; a changed file has a changed address, so that caches never lie."""
    return f'<script src="{script_address()}"></script>'


def script_address() -> str:
    """Where the script is served, below the page's own address."""
    return f"{FOLDER}/page.js?{hashlib.sha256(page_script().encode()).hexdigest()[:12]}"
