"""``page``: open the page in a browser."""

import argparse
import os
from typing import Any

from dsbd.commands.parser import OK


def add(commands: Any) -> None:
    """Add the subcommand and its flags: which pair, and where to listen."""
    summary = "open the page in a browser"
    parser = commands.add_parser("page", help=summary, description=summary, allow_abbrev=False)
    parser.set_defaults(run=run)
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
        "--pairs",
        default=os.environ.get("DSBD_PAIRS"),
        metavar="NAMES",
        help="pairs that visitors may choose, with commas: bundled:sql, TARGET or TARGET+DRAFT; default: the bundled",
    )
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16 (auto)")
    parser.add_argument(
        "--host", default=None, help="address to listen on; default: GRADIO_SERVER_NAME, else this machine only"
    )
    parser.add_argument("--port", default=None, help="default: the first free from GRADIO_SERVER_PORT, or from 7860")
    parser.add_argument("--mcp", action="store_true", help="let programs use the page as an MCP server")
    parser.add_argument("--share", action="store_true", help="a public link through Gradio's relay")


def run(parsed: argparse.Namespace) -> int:
    """Serve the page until it is stopped. Returns the exit code."""
    from visualize.page.serve import serve

    serve(parsed)
    return OK
