"""What the tabs share when they wire their parts: kinds of events, the line for the models, the visitor."""

from typing import Any

import gradio as gr

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""An event that belongs to the page and is no endpoint."""
ON_GPU: dict[str, Any] = {"concurrency_id": "gpu", "concurrency_limit": 1}
"""An event that uses the models: they all wait in one line."""


def place_shown_on(note: gr.HTML) -> dict[str, Any]:
    """A private event whose place in the queue and seconds stand beside the note while the visitor waits."""
    return {**PRIVATE, "show_progress": "minimal", "show_progress_on": note}


def session_of(request: gr.Request) -> str:
    """The visitor, as Gradio names it."""
    return request.session_hash or ""
