"""Every method as settings of the one decoder, so that all share its law, its cache and its result.

With an empty forest each iteration is a bonus layer: that is plain (beam) sampling on the shared-prefix
cache. Width one everywhere is speculative sampling of a chain. Temperature 0 without replacement keeps
the best ``num_beams`` pairs of the joint law: beam search.
"""

from dataclasses import replace

from dsbd.settings import DecodingSettings

DRAFTING_METHODS = frozenset({"dsbd", "speculative"})

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
        "num_beams",
        "temperature",
        "top_k",
        "top_p",
    ],
    "beam_sampling": ["num_beams", "replacement", "temperature", "top_k", "top_p"],
    "beam_search": ["num_beams", "top_k"],
    "speculative": ["draft_depth", "temperature", "top_k", "top_p"],
    "sampling": ["temperature", "top_k", "top_p"],
    "greedy": [],
}
"""The fields each method reads, besides max_new_tokens, length_penalty and seed."""


def resolve(settings: DecodingSettings) -> DecodingSettings:
    """The settings the decoder runs: fields that the method does not read are set to what it implies."""
    beams = settings.num_beams
    match settings.method:
        case "dsbd" if settings.forest == "likely":
            return replace(settings, max_width=settings.widest, landing=True, cover_width=0)
        case "dsbd":
            return replace(settings, max_width=settings.widest)
        case "speculative":
            return replace(_fixed_width(settings, 1), draft_depth=settings.draft_depth)
        case "beam_sampling":
            return replace(_fixed_width(settings, beams), replacement=settings.replacement)
        case "beam_search":
            return replace(_fixed_width(settings, beams), replacement=False, temperature=0.0, top_p=1.0)
        case "sampling":
            return _fixed_width(settings, 1)
        case _:
            return replace(_fixed_width(settings, 1), temperature=0.0, top_k=1, top_p=1.0)


def _fixed_width(settings: DecodingSettings, width: int) -> DecodingSettings:
    return replace(
        settings,
        draft_depth=0,
        draft_width=1,
        min_width=width,
        max_width=width,
        width_threshold=1.0,
        replacement=True,
        input_beams=None,
        landing=False,
        cover_width=0,
        forest="sampled",
    )
