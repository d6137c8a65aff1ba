"""``page``: open the page in a browser."""

import argparse
import os
from typing import Any

from dsbd.commands.parser import OK
from dsbd.errors import needs


def add(commands: Any) -> None:
    """Add the subcommand and its flags: which pair, and where to listen."""
    summary = "open the page in a browser"
    parser = commands.add_parser("page", help=summary, description=summary, allow_abbrev=False)
    parser.set_defaults(run=run)
    for flag, variable, what in (
        ("--target", "DSBD_TARGET", "folder, hub id, or bundled:sql; default: the bundled stories"),
        ("--draft", "DSBD_DRAFT", "a smaller model of the same vocabulary"),
        ("--device-map", "DSBD_DEVICE_MAP", "auto, balanced, sequential: spread models over devices"),
        ("--pairs", "DSBD_PAIRS", "pairs that visitors may choose, with commas: bundled:sql, TARGET or TARGET+DRAFT"),
    ):
        parser.add_argument(flag, default=os.environ.get(variable) or None, help=f"{what} ({variable})")
    add = parser.add_argument
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (auto)")
    add("--dtype", default="auto", help="auto, float32, bfloat16, float16 (auto)")
    add("--host", help="address to listen on; default: GRADIO_SERVER_NAME, else this machine only")
    add("--port", help="default: the first free from GRADIO_SERVER_PORT, or from 7860")
    add("--mcp", action="store_true", help="let programs use the page as an MCP server")
    add("--share", action="store_true", help="a public link through Gradio's relay")


def run(parsed: argparse.Namespace) -> int:
    """Serve the page until it is stopped. Returns the exit code."""
    with needs("page"):
        from visualize.page.serve import serve

    serve(parsed)
    return OK
