"""A page on a free port of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr

from ui.engine import Engine
from ui.host.options import Host
from ui.serving import launch_options


@contextmanager
def served(page: gr.Blocks, engine: Engine, host: Host | None = None, **options) -> Iterator[str]:
    """Yield the address of the page; close it at the end without waiting for what a visitor still has open."""
    options = launch_options(engine, host) | options
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address
    finally:
        page.server.config.timeout_graceful_shutdown = 0
        page.close()
