"""The flags that name a pair; loading it, and trying out its forests."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dsbd.assets import BUNDLED_PAIRS
from dsbd.commands.paths import model_name
from dsbd.errors import PairError
from dsbd.progress import Progress
from dsbd.steps import value_of

if TYPE_CHECKING:
    from dsbd.models.pair import Pair
    from dsbd.settings import DecodingSettings


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the models."""
    parser.add_argument("--pair", choices=BUNDLED_PAIRS, help=f"a bundled pair, instead of models ({BUNDLED_PAIRS[0]})")
    parser.add_argument("--target", type=model_name, metavar="PATH_OR_ID", help="target model, if not a bundled pair's")
    parser.add_argument("--draft", type=model_name, metavar="PATH_OR_ID", help="draft model of the same vocabulary")


def add_pair_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``load_pair``."""
    add_source_flags(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ... (auto)")
    parser.add_argument("--device-map", metavar="MAP", help="auto, balanced, sequential: spread models over devices")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, traced, fused, graph (auto)")


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
    steps = loading(target, draft, parsed.device, parsed.dtype, parsed.engine, parsed.device_map, load_kwargs)
    with Progress("loading") as progress:
        pair = value_of(steps, progress.show)
    for line in pair.fallbacks if pair.reports else []:
        print(f"dsbd: {line}", file=sys.stderr)
    return pair


def try_out_forests(pair: "Pair", prompt: str, settings: "DecodingSettings", chat: bool = False) -> None:
    """Resolve the fields that are ``auto``, and say how far it is; a decode with these settings then finds the plan."""
    from dsbd.api import planning

    with Progress("trying out forests", "trial") as progress:
        for done, step in enumerate(planning(pair, prompt, settings, chat=chat), 1):
            progress.show(done=done, total=step.total)
