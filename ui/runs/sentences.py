"""What went wrong, in a sentence: for the page as markup, for programs as an error."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

import gradio as gr

from dsbd.errors import DsbdError

from ..pairs.names import without_folders

LONGEST_SENTENCE = 600
"""Characters of a message, which may quote what a visitor gave."""


def sentence(error: DsbdError) -> str:
    """Return an error as a visitor reads it: without folders, and from a capital letter to a full stop."""
    words = without_folders(str(error))
    if len(words) > LONGEST_SENTENCE:
        words = f"{words[: LONGEST_SENTENCE - 2]} …"
    if not {"_", "."} & set(words.split(" ", 1)[0]):
        words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else words + "."


def alert(words: str) -> str:
    """Return markup that a screen reader speaks at once; the words are escaped."""
    return f'<p class="problem" role="alert">{escape(words)}</p>'


@contextmanager
def in_sentences() -> Iterator[None]:
    """Turn every error into one sentence for the program that called."""
    try:
        yield
    except gr.Error:
        raise
    except DsbdError as error:
        raise gr.Error(sentence(error), print_exception=False) from None
    except Exception:  # any other error is a bug of the page, and Gradio would answer null
        logging.exception("a call failed")
        raise gr.Error("The call failed: internal server error.", print_exception=False) from None
