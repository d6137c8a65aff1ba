"""Loads the pair and serves the page, for ``app.py`` and ``dsbd page``.

Importing this file is cheap; the page and the models are imported when they are needed.
"""

import argparse
import importlib.util
from functools import partial

from dsbd.errors import PageError, PairError


def serve(options: argparse.Namespace) -> None:
    """Load the pair and serve the page until it is stopped; the flags are those of :mod:`dsbd.commands.page`.

    Raises: PageError, PairError, SettingsError: a package is missing, the pair cannot be loaded, or a flag or setting
    is wrong.
    """
    from .host.listening import host_of, is_private, port_of

    port, private = port_of(options.port), is_private(host_of(options.host), options.share)
    try:
        import gradio  # noqa: F401
    except ImportError as error:
        raise PageError(f"the page needs Gradio, which cannot be imported ({error}); run: pip install gradio") from None
    from dsbd.models.loading import load_pair, loading

    from .engine import Engine
    from .host.allowed_models import ALL, AllowedModels
    from .host.limits import Limits
    from .host.options import Host, check_names, settings_behind
    from .page import build_page
    from .serving import launch_options
    from .traffic.run_log import set_up_log

    check_names()
    limits, host = Limits.from_environment(), Host.from_environment()
    if options.mcp:
        host = host.model_copy(update={"mcp": True})
    if host.mcp and importlib.util.find_spec("mcp") is None:
        raise PageError("--mcp needs the package mcp; run: pip install 'mcp>=1.21,<2'")
    set_up_log(host.log)
    how = {"device": options.device, "dtype": options.dtype, "device_map": options.device_map}
    patterns = options.allow_models
    allowed = AllowedModels(patterns if patterns is not None else ALL if private else "")
    try:
        pair = load_pair(options.target, options.draft, **how)
    except PairError as error:
        behind = settings_behind(vars(options))
        raise PairError(f"{error} (set by {', '.join(behind)})" if behind else str(error)) from None
    engine = Engine(pair, limits, partial(loading, **how), allowed)
    page, served = build_page(engine), launch_options(engine, host, private)
    try:
        page.launch(server_name=options.host, server_port=port, share=options.share, **served)
    except (OSError, OverflowError) as error:  # the latter if no port is free
        taken = "no port is free" if port is None else f"port {port} is taken"
        reason = taken if "empty port" in str(error) else str(error)
        raise PageError(f"the page cannot be served: {reason}; choose another --port or --host") from None
