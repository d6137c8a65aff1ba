"""What a link to the page looks like where it is shared: a title, a sentence and a picture."""

import re
from html import escape

from .files import FOLDER

TITLE = "DSBD: speculative beams, made visible"
SENTENCE = "A small model guesses, a large model checks: fewer passes, same quality. The large one decides every word."
PICTURE = f"{FOLDER}/preview.png"
"""1200×630, the two lanes; ``.ci/docs/captures.py`` takes it."""
_THEIRS = re.compile(rb"<meta\s+(?:property=\"og:|name=\"twitter:)[^>]*>\s*")
_HEAD = b"<head>"


def retold(page: bytes, address: str) -> bytes:
    """Return Gradio's page with this preview in place of Gradio's two; ``address`` is where visitors open the page."""
    return _THEIRS.sub(b"", page).replace(_HEAD, _HEAD + preview(address).encode(), 1)


def preview(address: str) -> str:
    """Return the elements that name title, sentence and picture to whoever shows a link."""
    where = address.rstrip("/") + "/"
    facts = {
        "og:title": TITLE,
        "og:description": SENTENCE,
        "og:type": "website",
        "og:url": where,
        "og:image": f"{where}{PICTURE}",
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": "The same text written twice: by the large model alone, and with guesses in far fewer passes",
        "twitter:card": "summary_large_image",
    }
    told = "".join(
        f'<meta {"name" if name.startswith("twitter:") else "property"}="{name}" content="{escape(words)}">'
        for name, words in facts.items()
    )
    return f'<meta name="description" content="{escape(SENTENCE)}">{told}'
