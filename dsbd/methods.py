"""Writes every method as settings of the one decoder, so that all share its law, cache and result.

With an empty forest each iteration is a bonus layer: that is plain (beam) sampling on the shared-prefix
cache. Width one everywhere is speculative sampling of a chain. Temperature 0 without replacement keeps
the best ``num_beams`` pairs of the joint law: beam search; a likely forest makes it speculative.
"""

from typing import Any

from dsbd.settings import DecodingSettings, ResolvedSettings

DRAFTING_METHODS = frozenset({"dsbd", "speculative_beam_search", "speculative"})

READS = {
    "dsbd": [
        "draft_depth",
        "draft_width",
        "min_width",
        "max_width",
        "width_threshold",
        "replacement",
        "input_beams",
        "landing",
        "cover_width",
        "forest",
        "depth_costs",
        "continuation",
        "num_beams",
        "temperature",
        "top_k",
        "top_p",
    ],
    "beam_sampling": ["num_beams", "replacement", "temperature", "top_k", "top_p"],
    "beam_search": ["num_beams", "top_k"],
    "speculative_beam_search": ["num_beams", "draft_depth", "draft_width", "depth_costs", "continuation", "top_k"],
    "speculative": ["draft_depth", "depth_costs", "continuation", "temperature", "top_k", "top_p"],
    "sampling": ["temperature", "top_k", "top_p"],
    "greedy": [],
}
"""The fields each method reads, besides max_new_tokens, length_penalty and seed."""


_BEST_PAIRS = {"replacement": False, "temperature": 0.0, "top_p": 1.0}


def resolve(settings: DecodingSettings) -> ResolvedSettings:
    """Return the settings that the decoder runs; fields that the method does not read get the values it implies.

    Fields that are ``auto`` must be planned before (``dsbd.auto``), unless the method does not read them.
    """
    beams = settings.num_beams
    match settings.method:
        case "dsbd" if settings.forest == "likely":
            return _resolved(settings, max_width=settings.widest, landing=True, cover_width=0)
        case "dsbd":
            return _resolved(settings, max_width=settings.widest)
        case "speculative":
            return _resolved(settings, **_fixed_width(1) | _kept(settings, "draft_depth", "depth_costs"))
        case "beam_sampling":
            return _resolved(settings, **_fixed_width(beams) | _kept(settings, "replacement"))
        case "beam_search":
            return _resolved(settings, **_fixed_width(beams) | _BEST_PAIRS)
        case "speculative_beam_search":
            drafted = _kept(settings, "draft_depth", "draft_width", "depth_costs")
            likely = {"forest": "likely", "landing": True}
            return _resolved(settings, **_fixed_width(beams) | _BEST_PAIRS | drafted | likely)
        case "sampling":
            return _resolved(settings, **_fixed_width(1))
        case "greedy":
            return _resolved(settings, **_fixed_width(1), temperature=0.0, top_k=1, top_p=1.0)
    raise AssertionError(f"method {settings.method} has no rule here")


def _resolved(settings: DecodingSettings, **implied: Any) -> ResolvedSettings:
    return ResolvedSettings(**vars(settings) | implied)


def _kept(settings: DecodingSettings, *names: str) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


def _fixed_width(width: int) -> dict[str, Any]:
    return {
        "draft_depth": 0,
        "draft_width": 1,
        "min_width": width,
        "max_width": width,
        "width_threshold": 1.0,
        "replacement": True,
        "input_beams": None,
        "landing": False,
        "cover_width": 0,
        "forest": "sampled",
        "depth_costs": None,
    }
