"""``decode``: decode a prompt and print its tokens as soon as they are settled."""

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dsbd.commands.pair_flags import add_pair_flags, pair_of, prepare
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.commands.paths import output_file
from dsbd.commands.settings_flags import add_settings_flags, settings_of_flags

if TYPE_CHECKING:
    from dsbd.models.pair import Pair


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "decode", "decode a prompt", run)
    parser.add_argument("--prompt", required=True, help="text to continue")
    parser.add_argument("--trace", type=output_file, metavar="FILE", help="record a trace (.json or .json.gz)")
    parser.add_argument("--chat", action="store_true", help="apply the model's chat template")
    parser.add_argument(
        "--tensor-parallel", action="store_true", help="spread the models over the processes of torchrun"
    )
    add_pair_flags(parser)
    add_settings_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    settings = settings_of_flags(parsed)
    from dsbd.api import stream

    pair = pair_of(parsed, {"tp_plan": "auto"} if parsed.tensor_parallel else None)
    prepare(pair, parsed.prompt, settings, parsed.chat)
    shown, result = "", None
    for update in stream(pair, parsed.prompt, settings, record=bool(parsed.trace), chat=parsed.chat):
        if pair.reports and not parsed.json:
            print(update.settled_text[len(shown) :], end="", flush=True)
            shown = update.settled_text
        result = update.result
    assert result is not None
    if not pair.reports:
        return OK
    if result.trace is not None:
        result.trace.save(parsed.trace)
    if parsed.json:
        print_json(
            {
                "text": result.text,
                "token_ids": result.token_ids,
                "beams": [asdict(beam) for beam in result.beams],
                "stats": asdict(result.stats),
                "settings": asdict(result.settings),
                "models": _models(pair),
            }
        )
        return OK
    stats = result.stats
    print(flush=True)
    print(
        f"[{stats.new_tokens} tokens, {stats.tokens_per_second:.1f} tokens/s, {stats.target_calls} target forwards, "
        f"{stats.layers_per_iteration:.2f} layers per iteration]",
        file=sys.stderr,
    )
    return OK


def _models(pair: "Pair") -> dict[str, Any]:
    from dsbd.tracing.recorder import model_record

    return {
        "target": asdict(model_record(pair.target)),
        "draft": None if pair.draft is None else asdict(model_record(pair.draft)),
    }
