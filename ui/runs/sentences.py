"""What went wrong, in a sentence: for the page as markup, for programs as an error."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

import gradio as gr

from dsbd.errors import DsbdError

from ..pairs.names import without_folders

LONGEST_SENTENCE = 600
"""Characters of a message; what visitors gave may be quoted in it."""


def sentence(error: DsbdError) -> str:
    """An error as a visitor reads it; names of settings and of files stay as they are, folders are left out."""
    words = without_folders(str(error))
    if len(words) > LONGEST_SENTENCE:
        words = f"{words[: LONGEST_SENTENCE - 2]} …"
    if not {"_", "."} & set(words.split(" ", 1)[0]):
        words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else words + "."


def alert(words: str) -> str:
    """Markup that a screen reader speaks at once. Escaped: messages quote what visitors gave."""
    return f'<p class="problem" role="alert">{escape(words)}</p>'


@contextmanager
def in_sentences() -> Iterator[None]:
    """Whatever goes wrong reaches the program as one sentence."""
    try:
        yield
    except gr.Error:
        raise
    except DsbdError as error:
        raise gr.Error(sentence(error), print_exception=False) from None
    except Exception:  # all: what a DsbdError does not name is a fault of ours, and Gradio would answer null
        logging.exception("a call failed")
        raise gr.Error("The call broke off on the server, by a fault of its own.", print_exception=False) from None
