"""Reads the page's files: markup, style sheets and scripts, each in the folder that it belongs to."""

import hashlib
from functools import lru_cache
from importlib import resources

from visualize import viewer_assets
from visualize.pages.document import page_file

FOLDER = "gradio_api/dsbd"
"""Where the page's files are served."""
LEARN = f"{FOLDER}/learn/"
"""Where the pages of lessons and recordings are served."""


def read(name: str) -> str:
    """A text file of the page, by folder and name, such as ``play/marks.html``."""
    return (resources.files("ui") / name).read_text(encoding="utf-8")


@lru_cache
def page_script() -> str:
    """The viewer, the unpacking and ``page.js`` and ``language.js`` as one classic script."""
    return viewer_assets()["js_classic"] + page_file("unpack.js") + read("parts/page.js") + read("parts/language.js")


@lru_cache
def script_tags() -> str:
    """The script that the drawing parts wait for. Its address changes with its content, so caches are never stale."""
    return f'<script src="{script_address()}"></script>'


def script_address() -> str:
    """Where the script is served, below the page's address."""
    return f"{FOLDER}/page.js?{hashlib.sha256(page_script().encode()).hexdigest()[:12]}"
