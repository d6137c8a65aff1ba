"""Loads the pair and serves the page, for ``app.py`` and ``dsbd page``.

Importing this file is cheap; the page and the models are imported when they are needed.
"""

import argparse
import importlib.util
from functools import partial
from typing import Any

from dsbd.errors import PageError
from dsbd.steps import value_of


def serve(options: argparse.Namespace) -> None:
    """Load the pair and serve the page until it is stopped; the flags are those of :mod:`dsbd.commands.page`.

    Meanwhile the address shows a recorded decode. Raises: PageError, PairError, SettingsError: a package is missing,
    the pair cannot be loaded, or a flag or setting is wrong.
    """
    from .host.limits import Limits
    from .host.listening import host_of, is_private, port_of
    from .host.options import Host, check_names
    from .starting.door import open_door

    port, listens = port_of(options.port), host_of(options.host)
    private = is_private(listens, options.share)
    check_names()
    limits, host = Limits.from_environment(), Host.from_environment()
    if options.mcp:
        host = host.model_copy(update={"mcp": True})
    if host.mcp and importlib.util.find_spec("mcp") is None:
        raise PageError("--mcp needs the package mcp; run: pip install 'mcp>=1.21,<2'")
    with open_door(listens, port) as door:
        door.say("Loading the page's libraries")
        page, served = _made(options, limits, host, private, door.say)
        door.close()
        try:
            page.launch(server_name=listens or "127.0.0.1", server_port=door.port, share=options.share, **served)
        except OSError as error:
            reason = f"port {door.port} is taken" if "empty port" in str(error) else str(error)
            raise PageError(f"the page cannot be served: {reason}; choose another --port or --host") from None


def _made(options: argparse.Namespace, limits: Any, host: Any, private: bool, say: Any) -> tuple[Any, dict[str, Any]]:
    """Return the page with its pair loaded, and how to launch it; ``say`` gets each step in words."""
    try:
        import gradio  # noqa: F401
    except ImportError as error:
        raise PageError(f"the page needs Gradio, which cannot be imported ({error}); run: pip install gradio") from None
    say("Loading the models' libraries")
    from dsbd.models.loading import loading

    from .engine import Engine
    from .host.allowed_models import ALL, AllowedModels
    from .page import build_page
    from .serving import launch_options
    from .traffic.run_log import set_up_log

    set_up_log(host.log)
    how = {"device": options.device, "dtype": options.dtype, "device_map": options.device_map}
    patterns = options.allow_models
    allowed = AllowedModels(patterns if patterns is not None else ALL if private else "")
    steps = loading(options.target, options.draft, **how)
    pair = value_of(steps, lambda words: say(f"{words[:1].upper()}{words[1:]}"))
    say("Putting the page together")
    engine = Engine(pair, limits, partial(loading, **how), allowed)
    return build_page(engine), launch_options(engine, host, private)
