"""The flags of what is written line by line: where, whether a run goes on with it, and which shard of it."""

import argparse
import os
from pathlib import Path

from dsbd.bench.record_file import Shard, shard_of
from dsbd.commands.flags import output_file
from dsbd.errors import SettingsError
from dsbd.util import check_output


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--output``, ``--resume`` and ``--shard``."""
    add = parser.add_argument
    add("--output", type=output_file, metavar="FILE", help="write one line of JSON per decode, as soon as it is made")
    add("--resume", action="store_true", help="go on with the file of an earlier run, if there is one")
    what = "of n processes, the i-th from 0, each with a file of its own (as torchrun or an array of SLURM says)"
    add("--shard", metavar="I/N", help=what)


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
