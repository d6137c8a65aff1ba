"""``plan``: the memory that a pair needs, before anything is loaded."""

import argparse
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dsbd.commands.pair_flags import add_source_flags, sources_of_flags
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.commands.settings_flags import add_settings_flags, settings_of_flags
from dsbd.settings import DecodingSettings

if TYPE_CHECKING:
    from dsbd.measure.planner import MemoryPlan

READ = ("method", "num_beams", "max_width", "forest", "branching", "draft_depth", "draft_width", "cover_width",
        "max_new_tokens")  # fmt: skip
"""The settings that change what a decode needs."""


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "plan", "memory that a pair needs, computed before it is loaded", run)
    add_source_flags(parser)
    parser.add_argument("--memory", type=float, metavar="GB", help="of the device; then the plan says whether it fits")
    parser.add_argument("--dtype", default="bfloat16", help="bfloat16, float16, float32, float64 (bfloat16)")
    parser.add_argument("--engine", default="graph", help="graph, eager, traced, fused, onnx (graph)")
    parser.add_argument("--prompt-tokens", type=int, default=512, metavar="INT", help="length of the prompt (512)")
    add_settings_flags(parser, [field.name for field in fields(DecodingSettings) if field.name not in READ])


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    settings = settings_of_flags(parsed)
    from dsbd.measure.planner import plan_memory

    target, draft = sources_of_flags(parsed)
    found = plan_memory(
        target,
        draft,
        settings,
        prompt_tokens=parsed.prompt_tokens,
        dtype=parsed.dtype,
        engine=parsed.engine,
        memory=None if parsed.memory is None else parsed.memory * 1e9,
    )
    if parsed.json:
        print_json(found.to_dict())
    else:
        print("\n".join(_lines(found)))
    return OK


def _lines(found: "MemoryPlan") -> Iterator[str]:
    """Yield the report."""
    needs = found.needs
    yield f"Computed from configurations, not measured: {found.dtype}, engine {found.engine}"
    yield ""
    for role, model in (("target", found.target), ("draft", found.draft)):
        yield f"{role:<11}{model.id}, {model.parameters:,} parameters, {_bytes(model.weight_bytes)}"
        yield f"{'':<11}{_bytes(model.slot_bytes)} of cache per token"
    yield ""
    weights = needs.target_weights + needs.draft_weights
    yield f"{'memory':<11}{_bytes(needs.total)}: weights {_bytes(weights)}, cache as allocated {_bytes(needs.cache)},"
    yield f"{'':<11}logits of a forest {_bytes(needs.logits)}, captured forwards {_bytes(needs.graphs)}"
    yield (
        f"{'':<11}in the cache: prompt {_bytes(needs.prompt)}, a beam at most {_bytes(needs.beam)}, "
        f"forest {_bytes(needs.forest)}; a cache for each beam would take {_bytes(needs.cache_per_beam)}"
    )
    if found.largest_context == 0:
        yield f"{'':<11}does not fit: the weights alone are too large"
    elif found.largest_context is not None:
        yield f"{'':<11}{'fits' if found.fits else 'does not fit'}; largest context {found.largest_context:,} tokens"
        asked = found.prompt_tokens + found.new_tokens
        if asked > found.largest_context:
            yield f"{'':<11}asked about: {asked:,} tokens of prompt and answer, which is more than that"
    yield ""
    yield "Not known before the pair is loaded:"
    yield from (f"  {line}" for line in found.unknown)


def _bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count:,.0f} bytes"
