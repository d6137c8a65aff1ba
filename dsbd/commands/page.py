"""``page``: open the page in a browser; ``examples``: record its examples for a pair of one's own."""

import argparse
import os
from pathlib import Path
from typing import Any

from dsbd.bench.tasks import Prompts, load_task
from dsbd.commands.flags import input_path, output_folder
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.errors import PageError, needs
from dsbd.util import ProgressLine


def add(commands: Any) -> None:
    """Add both subcommands with their flags: which pair, and where to listen or what to decode."""
    summary = "open the page in a browser"
    parser = commands.add_parser("page", help=summary, description=summary, allow_abbrev=False)
    parser.set_defaults(run=run)
    _add_pair_flags(parser)
    _add_host_flags(
        parser,
        ("--pairs", "DSBD_PAIRS", "pairs that visitors may choose, with commas: bundled:sql, TARGET or TARGET+DRAFT"),
        ("--examples", "DSBD_EXAMPLES", "folders that dsbd examples wrote, with commas: what their pairs open with"),
    )
    add = parser.add_argument
    add("--host", help="address to listen on; default: GRADIO_SERVER_NAME, else this machine only")
    add("--port", help="default: the first free from GRADIO_SERVER_PORT, or from 7860")
    add("--mcp", action="store_true", help="let programs use the page as an MCP server")
    add("--share", action="store_true", help="a public link through Gradio's relay")
    parser = new_command(commands, "examples", "decode prompts on your own pair; the page opens with the best", record)
    _add_pair_flags(parser)
    what = "lines of JSON, each with a prompt and perhaps an id, which names its button; default: four beginnings"
    parser.add_argument("--prompts", type=input_path, metavar="FILE", help=what)
    parser.add_argument("--output", type=output_folder, required=True, metavar="DIR", help="new folder for the page")


def _add_pair_flags(parser: argparse.ArgumentParser) -> None:
    _add_host_flags(
        parser,
        ("--target", "DSBD_TARGET", "folder, hub id, or bundled:sql; default: the bundled stories"),
        ("--draft", "DSBD_DRAFT", "a smaller model of the same vocabulary"),
        ("--device-map", "DSBD_DEVICE_MAP", "auto, balanced, sequential: spread models over devices"),
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16 (auto)")


def _add_host_flags(parser: argparse.ArgumentParser, *flags: tuple[str, str, str]) -> None:
    """Add flags whose defaults stand in the environment."""
    for flag, variable, what in flags:
        parser.add_argument(flag, default=os.environ.get(variable) or None, help=f"{what} ({variable})")


def run(parsed: argparse.Namespace) -> int:
    """Serve the page until it is stopped. Returns the exit code."""
    with needs("page"):
        from visualize.page.serve import serve

    serve(parsed)
    return OK


def record(parsed: argparse.Namespace) -> int:
    """Decode the prompts and write the best as recordings. Returns the exit code."""
    if not parsed.target or not parsed.draft:
        raise PageError("examples are those of your own pair; name its --target and its --draft")
    with needs("page"):
        from visualize.page.form import EXAMPLES
        from visualize.page.recordings import check_new, record_examples, save_best

    from dsbd.models.loading import load_pair

    task = Prompts([*EXAMPLES["others"].values()]) if parsed.prompts is None else load_task("jsonl", parsed.prompts)
    questions, folder = task.questions(None), Path(parsed.output)
    check_new(folder, parsed.target, len(questions))
    with ProgressLine("loading") as progress:
        how = {name: getattr(parsed, name) for name in ("device", "dtype", "device_map")}
        pair = load_pair(parsed.target, parsed.draft, **how, show=progress.show)
        progress.show(f"decoding {len(questions)} prompts")
        saved = save_best([*record_examples(pair, questions)], folder)
    if parsed.json:
        kept = [{"file": name, "tokens_per_pass": one.tokens_per_pass} for name, one in saved]
        print_json({"output": parsed.output, "examples": kept})
    else:
        print("\n".join(f"{name}: {one.tokens_per_pass:.2f} tokens a pass" for name, one in saved))
    return OK
