"""Kinds of events that the tabs share, and the visitor of a request."""

from typing import Any

import gradio as gr

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""An event of the page that programs cannot call."""
ON_GPU: dict[str, Any] = {"concurrency_id": "gpu", "concurrency_limit": 1}
"""An event that uses the models; all these events wait in one line."""


def place_shown_on(note: gr.HTML) -> dict[str, Any]:
    """A private event; while the visitor waits, its place in the queue and its seconds stand beside the note."""
    return {**PRIVATE, "show_progress": "minimal", "show_progress_on": note}


def session_of(request: gr.Request) -> str:
    """The visitor, as Gradio names it."""
    return request.session_hash or ""
