"""The flags of a pair, and of a file that is resumed or shared; what precedes a decode; checks of typed paths."""

import argparse
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.bench.record_file import Shard, shard_of
from dsbd.errors import PairError, SettingsError
from dsbd.util import BUNDLED_PAIRS, SMOLLM2, ProgressLine, check_output

if TYPE_CHECKING:
    from dsbd.api import DecodeRequest
    from dsbd.models.pair import Pair

LONGEST_SHOWN = 80


def input_path(text: str) -> str:
    """Check the path of a file or folder to read; that it exists is checked where it is read.

    Raises:
        ArgumentTypeError: it is empty, cannot be a path, or is a pipe or a device, which may have no end.
    """
    mode = _mode_of(text)
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise argparse.ArgumentTypeError(f"{shortened(text)} is a pipe or a device; name a file or folder")
    return text


def output_file(text: str) -> str:
    """Check the path of a file to write.

    Raises:
        ArgumentTypeError: it is empty, cannot be a path, is a folder, or its folder does not exist.
    """
    if stat.S_ISDIR(_mode_of(text)):
        raise argparse.ArgumentTypeError(f"{shortened(text)} is a folder; name a file")
    if not Path(text).resolve().parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {shortened(text)} does not exist; create it first")
    return text


def output_folder(text: str) -> str:
    """Check the path of a folder to write. Raises: ArgumentTypeError: it is empty, cannot be a path, or is a file."""
    mode = _mode_of(text)
    if mode and not stat.S_ISDIR(mode):
        raise argparse.ArgumentTypeError(f"cannot write into {shortened(text)}: it is not a folder; name a folder")
    return text


def path_or_id(text: str) -> str:
    """Check the folder or hub id of a model. Raises: ArgumentTypeError: it can be neither."""
    _mode_of(text)
    return text


def typed_text(text: str) -> str:
    """Return a text as it was typed: Python leaves bytes that the system's encoding lacks."""
    try:
        return os.fsencode(text).decode()
    except UnicodeError:  # it is refused where it is encoded
        return text


def shortened(text: str) -> str:
    """Return what was typed in quotes, cut where it is long."""
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")


def _mode_of(text: str) -> int:
    """Return the kind of a file or folder; 0 where there is none."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not a path; name a file or folder")
    try:
        return Path(text).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except ValueError as error:  # a NUL character, or half of a surrogate pair
        raise argparse.ArgumentTypeError(f"{shortened(text)} is not a path ({error}); name a file or folder") from None
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot use {shortened(text)}: {error.strerror}; name another") from None


def add_pair_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``load_pair``, and how a prompt is sent."""
    add = parser.add_argument
    what = f"a bundled pair ({BUNDLED_PAIRS[0]}), or {SMOLLM2} once it is fetched"
    add("--pair", choices=(*BUNDLED_PAIRS, SMOLLM2), help=what)
    add("--target", type=path_or_id, metavar="PATH_OR_ID", help="target model, instead of a bundled pair")
    add("--draft", type=path_or_id, metavar="PATH_OR_ID", help="draft model of the same vocabulary, or lookup")
    add("--device", default="auto", help="auto, cpu, cuda, ... (auto)")
    add("--device-map", metavar="MAP", help="auto, balanced, sequential: spread models over devices")
    add("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (auto)")
    add("--engine", default="auto", help="auto, eager, traced, onnx, graph (auto)")
    what = "float, or int8, on a CPU: eight bits; guesses may change the text of a seed (auto: int8 for smollm2)"
    add("--weights", default="auto", help=what)
    what = "folder of a memory of the target: a prompt beyond the context is read into it"
    add("--memory", type=path_or_id, metavar="PATH", help=what)
    what = "send a prompt as a user's turn (where the model has a chat template)"
    add("--chat", action=argparse.BooleanOptionalAction, help=what)


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--output``, ``--resume`` and ``--shard``."""
    add = parser.add_argument
    add("--output", type=output_file, metavar="FILE", help="write one line of JSON per decode, as soon as it is made")
    add("--resume", action="store_true", help="go on with the file of an earlier run, if there is one")
    what = "of n processes, the i-th from 0, each with a file of its own (as torchrun or an array of SLURM says)"
    add("--shard", metavar="I/N", help=what)


def add_batch_flag(parser: argparse.ArgumentParser) -> None:
    """Add ``--batch``."""
    what = "decodes at the same time, which share forwards; fewer where the memory holds no more (1)"
    parser.add_argument("--batch", type=int, default=1, metavar="N", help=what)


def output_of(parsed: argparse.Namespace, alone: bool = False) -> tuple[str | None, Shard]:
    """Return the file that this process writes, None for none, and its shard.

    Raises: SettingsError, ArgumentError: there cannot be such a file; or processes share a machine that is to be one's
        ``alone``.
    """
    shard = shard_of(parsed.shard, os.environ)
    if alone and shard.count > 1 and os.environ.get("LOCAL_WORLD_SIZE") != "1":
        raise SettingsError(
            f"this is one of {shard.count} processes, and on one machine they slow each other down; start one on each "
            "machine (torchrun --nproc_per_node 1), or a single one (--shard 0/1)"
        )
    if parsed.output is None:
        for flag, is_given in (("--resume", parsed.resume), ("a shard", shard.count > 1)):
            if is_given:
                raise SettingsError(f"{flag} needs a file to write to; give --output FILE")
        return None, shard
    path = shard.file(parsed.output)
    check_output(path, "JSON lines")
    if Path(path).exists() and not parsed.resume:
        raise SettingsError(f"{path!r} exists; go on with it by --resume, or name another --output")
    return path, shard


def pair_of(parsed: argparse.Namespace) -> "Pair":
    """Load the pair that the flags name; fallbacks are printed on stderr. Raises: PairError."""
    from dsbd.models.loading import load_pair

    target, draft = parsed.target, parsed.draft
    if parsed.pair is not None:
        if target is not None:
            raise PairError(f"--pair {parsed.pair} and --target {target} name two pairs; give one of them")
        target = SMOLLM2 if parsed.pair == SMOLLM2 else f"bundled:{parsed.pair}"
    named = {name: getattr(parsed, name) for name in ("device", "dtype", "engine", "device_map", "memory", "weights")}
    with ProgressLine("loading") as progress:
        pair = load_pair(target, draft, **named, show=progress.show)
    for line in pair.fallbacks:
        print(f"dsbd: {line}", file=sys.stderr)
    return pair


def plan(request: "DecodeRequest", tokenizer: Any) -> None:
    """Read a prompt beyond the context and resolve ``auto``, with progress on stderr."""
    from dsbd.auto import TRYING
    from dsbd.memory.reading import READING

    with ProgressLine(TRYING, "step") as progress:
        read = 0
        for step in request.planning():
            progress.show(*step)
            read = step.total if step.doing == READING else read
    ids, start = request.ids, tokenizer.bos_token_id
    if read:
        note = f"the prompt of {len(ids):,} tokens is read in {read} segments; the distribution is p(. | memory)"
        print(f"dsbd: {note}", file=sys.stderr)
    if start is not None and ids[:2] == [start, start]:
        note = f"the prompt begins twice: leave out {tokenizer.bos_token!r}, or give the user's turn and --chat"
        print(f"dsbd: {note}", file=sys.stderr)
