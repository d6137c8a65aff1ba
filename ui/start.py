"""Opening the page from a command line: its flags, the pair, the server. ``app.py`` and ``dsbd page`` both use it.

Importing this file is cheap; the page and the models are imported when they are needed.
"""

import argparse
import importlib.util
import os
from functools import partial

from dsbd.errors import PageError, PairError


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the page: which pair, and where to listen."""
    parser.add_argument(
        "--target",
        default=os.environ.get("DSBD_TARGET") or None,
        help="folder, hub id, or bundled:sql; default: the bundled stories",
    )
    parser.add_argument(
        "--draft", default=os.environ.get("DSBD_DRAFT") or None, help="a smaller model of the same vocabulary"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (auto)")
    parser.add_argument(
        "--device-map",
        default=os.environ.get("DSBD_DEVICE_MAP") or None,
        help="auto, balanced, sequential: spread models over devices",
    )
    parser.add_argument(
        "--allow-models",
        default=os.environ.get("DSBD_ALLOWED_MODELS"),
        metavar="PATTERNS",
        help="models that visitors may load, such as 'Qwen/*,gpt2'; default: any on this machine only, else none",
    )
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16 (auto)")
    parser.add_argument(
        "--host", default=None, help="address to listen on; default: GRADIO_SERVER_NAME, else this machine only"
    )
    parser.add_argument("--port", default=None, help="default: the first free from GRADIO_SERVER_PORT, or from 7860")
    parser.add_argument("--mcp", action="store_true", help="let programs use the page as an MCP server")
    parser.add_argument("--share", action="store_true", help="a public link through Gradio's relay")


def serve(options: argparse.Namespace) -> None:
    """Load the pair and serve the page until it is stopped.

    Args:
        options: what the flags of :func:`add_flags` gave.

    Raises:
        PageError: Gradio is missing, or the page cannot listen there.
        PairError: the pair cannot be loaded; the message names the settings that chose it.
        SettingsError: the host, the port or a setting in the environment is out of range, or is none.
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
    except (OSError, OverflowError) as error:  # the latter above the highest port
        taken = "no port is free" if port is None else f"port {port} is taken"
        reason = taken if "empty port" in str(error) else str(error)
        raise PageError(f"the page cannot be served: {reason}; choose another --port or --host") from None
