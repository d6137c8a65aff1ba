"""Writes every method as settings of the one decoder, so that all share its law, cache and result.

With an empty forest each iteration is a bonus layer: that is plain (beam) sampling on the shared-prefix
cache. Width one everywhere is speculative sampling of a chain, and with a forest drawn per parent it is
SpecInfer's token tree. Temperature 0 without replacement keeps the best ``num_beams`` pairs of the joint law:
beam search; a likely forest makes it speculative. The joint test of ``mjsd`` keeps no law
(docs/algorithm.md, *Joint tests*); ``mjgd`` is the same with the target as its own draft model.
"""

from typing import Any

from dsbd.settings import DecodingSettings, ResolvedSettings

DRAFTING_METHODS = frozenset({"dsbd", "speculative_beam_search", "specinfer", "speculative", "mjsd"})
"""Methods that call the draft model."""
WITHOUT_AUTO = frozenset({"mjsd"})
"""Drafting methods that do not take ``auto``."""

READS = {
    "dsbd": [
        "draft_depth", "draft_width", "min_width", "max_width", "width_threshold", "replacement", "input_beams",
        "landing", "cover_width", "forest", "depth_costs", "continuation", "num_beams", "temperature", "top_k",
        "top_p",
    ],
    "beam_sampling": ["num_beams", "replacement", "temperature", "top_k", "top_p"],
    "beam_search": ["num_beams", "top_k"],
    "speculative_beam_search": ["num_beams", "draft_depth", "draft_width", "depth_costs", "continuation", "top_k"],
    "specinfer": ["branching", "replacement", "temperature", "top_k", "top_p"],
    "speculative": ["draft_depth", "depth_costs", "continuation", "temperature", "top_k", "top_p"],
    "sampling": ["temperature", "top_k", "top_p"],
    "greedy": [],
    "mjsd": ["joint_threshold", "draft_depth", "draft_width", "temperature", "top_k", "top_p"],
    "mjgd": ["block"],
}  # fmt: skip
"""The fields each method reads, besides those that every method reads."""
EVERY_METHOD = ("max_new_tokens", "length_penalty", "seed")
"""The fields that every method reads."""


_UNREAD: dict[str, Any] = {
    "joint_threshold": 0.5,
    "block": 2,
    "lossless": True,
    "branching": None,
}
"""Fields that a single method reads, with the values that they have for all others."""
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
            chain = _kept(settings, "draft_depth", "depth_costs")
            return _resolved(settings, **_fixed_width(1) | chain)
        case "specinfer":
            assert settings.branching is not None, "checked by the settings"
            depth = len(settings.branching)
            distinct = not settings.replacement or settings.temperature == 0  # all draws would be the likeliest child
            tree = {"branching": settings.branching, "draft_depth": depth, "replacement": not distinct}
            return _resolved(settings, **_fixed_width(1) | tree)
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
        case "mjsd":
            kept = _kept(settings, "joint_threshold", "draft_depth", "draft_width")
            return _resolved(settings, **_joint(replacement=settings.temperature > 0) | kept)
        case "mjgd":
            asked = {"block": settings.block, "draft_depth": settings.block, "joint_threshold": 0.0}
            return _resolved(settings, **_joint() | asked, temperature=0.0, top_k=1, top_p=1.0)
    raise AssertionError(f"method {settings.method} has no rule here")


def needs_draft_model(settings: DecodingSettings) -> bool:
    """Return True if a decode with these settings calls the draft model."""
    drafts_nothing = "draft_depth" in READS[settings.method] and settings.draft_depth == 0
    return settings.method in DRAFTING_METHODS and not drafts_nothing


def has_auto(settings: DecodingSettings) -> bool:
    """Return True if the method takes ``auto``, and a field still has it."""
    return settings.method in DRAFTING_METHODS - WITHOUT_AUTO and settings.is_auto


def _resolved(settings: DecodingSettings, **implied: Any) -> ResolvedSettings:
    return ResolvedSettings(**vars(settings) | _UNREAD | implied)


def _kept(settings: DecodingSettings, *names: str) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


def _joint(replacement: bool = True) -> dict[str, Any]:
    return _fixed_width(1) | {"lossless": False, "replacement": replacement}


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
