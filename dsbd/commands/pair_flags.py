"""The flags that name a pair; loading it, and what comes before a decode."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dsbd.assets import BUNDLED_PAIRS
from dsbd.commands.paths import path_or_id
from dsbd.errors import PairError
from dsbd.progress import ProgressLine
from dsbd.steps import value_of

if TYPE_CHECKING:
    from dsbd.models.pair import Pair
    from dsbd.settings import DecodingSettings


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the models."""
    parser.add_argument("--pair", choices=BUNDLED_PAIRS, help=f"a bundled pair ({BUNDLED_PAIRS[0]})")
    parser.add_argument(
        "--target", type=path_or_id, metavar="PATH_OR_ID", help="target model, instead of a bundled pair"
    )
    parser.add_argument("--draft", type=path_or_id, metavar="PATH_OR_ID", help="draft model of the same vocabulary")


def add_pair_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``load_pair``."""
    add_source_flags(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ... (auto)")
    parser.add_argument("--device-map", metavar="MAP", help="auto, balanced, sequential: spread models over devices")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, traced, fused, onnx, graph (auto)")
    what = "folder of a memory of the target, or bundled: a prompt beyond the context is read into it"
    parser.add_argument("--memory", type=path_or_id, metavar="PATH", help=what)


def sources_of_flags(parsed: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return target and draft that the flags name. Raises: PairError: they name two pairs."""
    target, draft = parsed.target, parsed.draft
    if parsed.pair is not None:
        if target is not None:
            raise PairError(f"--pair {parsed.pair} and --target {target} name two pairs; give one of them")
        target = f"bundled:{parsed.pair}"
    return target, draft


def pair_of(parsed: argparse.Namespace, load_kwargs: Mapping[str, Any] | None = None) -> "Pair":
    """Load the pair that the flags name, with further arguments; fallbacks are printed on stderr."""
    from dsbd.models.loading import loading

    target, draft = sources_of_flags(parsed)
    how = (parsed.device, parsed.dtype, parsed.engine, parsed.device_map)
    steps = loading(target, draft, *how, load_kwargs, parsed.memory)
    with ProgressLine("loading") as progress:
        pair = value_of(steps, progress.show)
    for line in pair.fallbacks if pair.reports else []:
        print(f"dsbd: {line}", file=sys.stderr)
    return pair


def prepare(pair: "Pair", prompt: str, settings: "DecodingSettings", chat: bool = False) -> None:
    """Read a prompt beyond the context and resolve ``auto``, with progress on stderr; the decode reuses both."""
    from dsbd.api import READING, TRYING, planning
    from dsbd.memory.reading import ReadProgress

    with ProgressLine(TRYING, "step") as progress:
        read = 0
        for done, step in enumerate(planning(pair, prompt, settings, chat=chat), 1):
            if isinstance(step, ReadProgress):
                read = step.total
                progress.show(READING, done, step.total)
            else:
                progress.show(TRYING, done - read, step.total)
    if read and pair.reports:
        size = len(pair.encode(prompt, chat))
        print(
            f"dsbd: the prompt of {size:,} tokens is read in {read} segments; the law is p(. | memory)", file=sys.stderr
        )


def say_read(prompts: int) -> None:
    """Say how many prompts of a contest are read into the memory, if any."""
    if prompts:
        told = "1 prompt goes" if prompts == 1 else f"{prompts:,} prompts go"
        print(f"dsbd: {told} beyond the context and into the memory; the law is p(. | memory)", file=sys.stderr)
