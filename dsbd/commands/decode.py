"""``decode``: a prompt, whose text is printed, or a file of prompts, whose results are written line by line."""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.bench.files import read_text
from dsbd.bench.record_file import RecordFile, Shard, digest
from dsbd.bench.task import Question
from dsbd.bench.tasks import load_task
from dsbd.commands.flags import (
    add_batch_flag,
    add_output_flags,
    add_pair_flags,
    input_path,
    output_file,
    output_of,
    pair_of,
    plan,
    typed_text,
)  # fmt: skip
from dsbd.commands.parser import OK, add_settings_flags, new_command, print_json, settings_of_flags
from dsbd.errors import DsbdError, SettingsError
from dsbd.settings import DecodingSettings
from dsbd.util import ProgressLine, check_output

if TYPE_CHECKING:
    from dsbd.models.pair import Pair
    from dsbd.results import DecodingResult


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "decode", "decode a prompt, or a file of prompts", decode)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--prompt", type=typed_text, help="text to continue")
    what = "lines of JSON, each with a prompt and perhaps an id; their results go to --output"
    which.add_argument("--prompts", type=input_path, metavar="FILE", help=what)
    parser.add_argument("--trace", type=output_file, metavar="FILE", help="record a trace (.json or .json.gz)")
    what = "a text that is expected, to guess from; may be given several times"
    parser.add_argument("--guess", type=input_path, action="append", default=[], metavar="FILE", help=what)
    what = "earlier answers, to guess from; new ones are added, in a new file if there is none"
    parser.add_argument("--history", type=output_file, metavar="FILE", help=what)
    add_output_flags(parser)
    add_batch_flag(parser)
    add_pair_flags(parser)
    add_settings_flags(parser)


def decode(parsed: argparse.Namespace) -> int:
    """Run ``decode``; returns the exit code."""
    settings = settings_of_flags(parsed)
    return _decode_one(parsed, settings) if parsed.prompts is None else _decode_file(parsed, settings)


def _decode_one(parsed: argparse.Namespace, settings: DecodingSettings) -> int:
    """Print the tokens as soon as they are settled."""
    for flag in ("output", "resume", "shard"):
        if getattr(parsed, flag):
            raise SettingsError(f"--{flag} is given, and --prompt prints its text; give --prompts FILE")
    if parsed.batch != 1:
        raise SettingsError(f"--batch is {parsed.batch}, and --prompt is one prompt; give --prompts FILE")
    if parsed.trace:
        check_output(parsed.trace, "JSON")
    from dsbd.api import DecodeRequest

    pair = pair_of(parsed)
    known = _known_of(parsed)
    request = DecodeRequest(pair, parsed.prompt, settings, record=bool(parsed.trace), chat=parsed.chat, **known)
    plan(request, pair.tokenizer)
    result = None
    for update in request.updates():
        if not parsed.json:
            print(update.delta, end="", flush=True)
        result = update.result
    assert result is not None
    if known["history"] is not None:
        known["history"].save(parsed.history)
    if result.trace is not None:
        result.trace.save(parsed.trace)
    if parsed.json:
        from dsbd.tracing.recorder import model_records

        print_json({**_plain(result), "models": asdict(model_records(pair))})
        return OK
    stats = result.stats
    print(flush=True)
    print(
        f"[{stats.new_tokens} tokens, {stats.tokens_per_second:.1f} tokens/s, {stats.target_calls} target forwards, "
        f"{stats.layers_per_iteration:.2f} layers per iteration]",
        file=sys.stderr,
    )
    return OK


def _known_of(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return what is expected, and the history of the file, as arguments of a decode."""
    from dsbd.drafts.history import History

    history = None
    if parsed.history is not None:
        history = History.load(parsed.history) if Path(parsed.history).exists() else History()
    return {"guess": [read_text(Path(name)) for name in parsed.guess], "history": history}


def _plain(result: "DecodingResult | DsbdError") -> dict[str, Any]:
    """Return a result as plain data, without its trace, or an error."""
    if isinstance(result, DsbdError):
        return {"error": str(result)}
    values = asdict(replace(result, trace=None))
    del values["trace"]
    return values


def _decode_file(parsed: argparse.Namespace, settings: DecodingSettings) -> int:
    """Write a line for each prompt of the file, and say on stderr how many failed."""
    if parsed.trace:
        raise SettingsError("--trace records one decode; give it with --prompt")
    output, shard = output_of(parsed)
    if output is None:
        raise SettingsError("--prompts needs a file for the results; give --output FILE")
    if parsed.history is not None and shard.count > 1:
        raise SettingsError(
            f"--history is given, and {shard.count} processes cannot write one file; leave one of both out"
        )
    check_output(output, "JSON lines", parsed.prompts)
    questions, known = load_task("jsonl", parsed.prompts).questions(), _known_of(parsed)
    options = {"chat": parsed.chat, "batch": parsed.batch, **known}
    try:
        failed = decode_prompts(pair_of(parsed), questions, settings, output, shard, parsed.resume, options)
    finally:
        if known["history"] is not None:
            known["history"].save(parsed.history)
    if failed:
        print(f"dsbd: {failed} prompts failed; the line of each says why, as error", file=sys.stderr)
    if parsed.json:
        print_json({"output": output, "prompts": len(shard.of(questions)), "failed": failed})
    return OK


def decode_prompts(
    pair: "Pair", questions: list[Question], settings: DecodingSettings, output: str, shard: Shard, resume: bool,
    options: dict[str, Any],
) -> int:  # fmt: skip
    """Write the result or the error of each question of the shard that the file lacks; return how many failed.

    Raises: as :class:`RecordFile` and :func:`dsbd.decode_many`.
    """
    from dsbd.api import decode_many
    from dsbd.models.pair import conditions

    prompts = digest(*((one.id, one.prompt) for one in questions))[:16]
    about = {"settings": asdict(settings), "chat": options.get("chat"), "prompts": prompts, "shard": asdict(shard)}
    with RecordFile(output, about | conditions(pair), resume) as file, ProgressLine("decoding", "prompt") as progress:
        done = {record.get("id") for record in file.records}
        failed = sum("error" in record for record in file.records)
        left = [one for one in shard.of(questions) if one.id not in done]
        results = decode_many(pair, (one.prompt for one in left), settings, on_error="keep", **options)
        for count, (one, result) in enumerate(zip(left, results, strict=True), len(done) + 1):
            file.append({"record": "decode", "id": one.id, **_plain(result)})
            failed += isinstance(result, DsbdError)
            progress.show(done=count, total=len(done) + len(left))
    return failed
