"""``plan``: what a pair needs on a device, and how fast it can be, before anything is loaded."""

import argparse
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dsbd.commands.output import OK, print_json
from dsbd.commands.pair_flags import add_source_flags, sources_of_flags
from dsbd.commands.parser import new_command
from dsbd.commands.settings_flags import add_settings_flags, settings_of_flags
from dsbd.settings import DecodingSettings

if TYPE_CHECKING:
    from dsbd.measure.forest_speed import DepthForecast
    from dsbd.measure.planner import Forecast

READ = ("num_beams", "forest", "draft_depth", "draft_width", "cover_width", "max_new_tokens", "continuation")
GIGA, TERA = 1e9, 1e12


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "plan", "memory and speed of a pair on a device, computed before it is loaded", run)
    add_source_flags(parser)
    parser.add_argument("--gpu", default="H100", help="H100, H200, A100-80GB, L40S, RTX-4090, T4, ...; cpu (H100)")
    parser.add_argument("--memory", type=float, metavar="GB", help="instead of the device's")
    parser.add_argument("--bandwidth", type=float, metavar="GB/S", help="instead of the device's; a cpu needs it")
    parser.add_argument("--flops", type=float, metavar="TFLOP/S", help="10^12 operations/s, instead of the device's")
    parser.add_argument("--dtype", default="auto", help="auto, bfloat16, float16, float32, float64 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, traced, fused, graph (auto)")
    parser.add_argument("--prompt-tokens", type=int, default=512, metavar="INT", help="(512)")
    parser.add_argument("--overhead", type=float, default=0.0, metavar="MS", help="outside the models, per iteration")
    parser.add_argument(
        "--continuations",
        type=_continuations,
        metavar="FOREST=B,...",
        default={},
        help="of further forests, as in likely:24=0.7,sampled:6+8=0.65",
    )
    add_settings_flags(parser, [field.name for field in fields(DecodingSettings) if field.name not in READ])


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    settings = settings_of_flags(parsed)
    from dsbd.measure.planner import forecast

    target, draft = sources_of_flags(parsed)
    found = forecast(
        target,
        draft,
        parsed.gpu,
        settings,
        prompt_tokens=parsed.prompt_tokens,
        continuations=parsed.continuations,
        dtype=parsed.dtype,
        engine=parsed.engine,
        memory=_times(parsed.memory, GIGA),
        bandwidth=_times(parsed.bandwidth, GIGA),
        flops=_times(parsed.flops, TERA),
        overhead=parsed.overhead,
    )
    if parsed.json:
        print_json(found.to_dict())
    else:
        print("\n".join(_lines(found)))
    return OK


def _lines(found: "Forecast") -> Iterator[str]:
    """Yield the report."""
    yield f"Computed from configurations and a datasheet, not measured: {found.device.name}, {found.device.dtype}"
    yield ""
    for role, model in (("target", found.target), ("draft", found.draft)):
        yield f"{role:<11}{model.id}, {model.parameters:,} parameters, {_bytes(model.weight_bytes)}"
        yield f"{'':<11}a forward reads {_bytes(model.read_bytes)}; {_bytes(model.slot_bytes)} of cache per token"
    yield ""
    yield from _memory_lines(found)
    yield ""
    for one in found.forwards:
        arithmetic = "-" if one.by_arithmetic is None else f"{one.by_arithmetic:.3f} ms"
        yield (
            f"{one.role:<11}{one.tokens:>4} tokens: {one.floor:.3f} ms "
            f"(bandwidth {one.by_bandwidth:.3f} ms, arithmetic {arithmetic})"
        )
    if found.free_tokens is not None:
        yield f"{'':<11}up to {found.free_tokens:.0f} tokens cost the target no more than one"
    yield ""
    yield f"{'':<19}{'layers':>7}{'ms/iteration':>14}{'ms/token':>10}{'ratio':>7}{'continuation':>14}"
    alone = found.beam_sampling_milliseconds
    yield f"{f'beam sampling, {found.beams}':<19}{1:>7.2f}{alone:>14.3f}{alone:>10.3f}{1:>7.2f}{'-':>14}"
    yield _speed_line("asked", found.asked, found.continuation)
    for forest in found.forests:
        if forest.best is not None:
            yield _speed_line(forest.forest, forest.best, forest.continuation or 0.0)
        else:
            yield _needed_line(forest.forest, forest.needed_continuation)
    if found.best.best is not None:
        yield f"{'best':<11}{found.best.forest}, {found.best.best.draft_depth} layers deep"
    yield ""
    yield from found.rests_on


def _memory_lines(found: "Forecast") -> Iterator[str]:
    needs = found.memory
    weights = needs.target_weights + needs.draft_weights
    yield f"{'memory':<11}{_bytes(needs.total)}: weights {_bytes(weights)}, cache as allocated {_bytes(needs.cache)},"
    yield f"{'':<11}logits of a forest {_bytes(needs.logits)}, captured forwards {_bytes(needs.graphs)}"
    yield (
        f"{'':<11}in the cache: prompt {_bytes(needs.prompt)}, a beam at most {_bytes(needs.beam)}, "
        f"forest {_bytes(needs.forest)}; a cache for each beam would take {_bytes(needs.cache_per_beam)}"
    )
    if found.largest_context is not None:
        fits = "fits" if found.fits else "does not fit"
        yield (
            f"{'':<11}{fits}; largest context {found.largest_context:,} tokens "
            f"(by the memory alone {found.memory_context:,})"
        )
        asked = found.prompt_tokens + found.new_tokens
        if asked > found.largest_context:
            yield f"{'':<11}asked about: {asked:,} tokens of prompt and answer, which is more than that"


def _speed_line(name: str, one: "DepthForecast", continuation: float) -> str:
    return (
        f"{f'{name} x {one.draft_depth}':<19}{one.expected_layers:>7.2f}{one.milliseconds_per_iteration:>14.3f}"
        f"{one.milliseconds_per_token:>10.3f}{one.ratio:>7.2f}{continuation:>14.3f}"
    )


def _needed_line(name: str, needed: float | None) -> str:
    said, share = ("never as fast", "-") if needed is None else ("as fast from", f"{needed:.3f}")
    return f"{name:<19}{said:>38}{share:>14}"


def _times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit


def _bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count:,.0f} bytes"


def _continuations(text: str) -> dict[str, float]:
    pairs = (entry.partition("=") for entry in text.split(","))
    return {name: float(share) for name, _, share in pairs}


_continuations.__name__ = "list FOREST=CONTINUATION"  # argparse names the type in its message
