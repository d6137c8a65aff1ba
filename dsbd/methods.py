"""Writes every method as settings of the one decoder, so that all share its distribution, cache and result.

With an empty forest each iteration is a bonus layer: that is plain (beam) sampling on the shared-prefix cache. Width
one everywhere is speculative sampling of a chain, and with a forest drawn per parent it is SpecInfer's token tree.
Temperature 0 without replacement keeps the best ``num_beams`` candidates of the joint distribution: beam search; a
coupled forest makes it speculative. The joint test of ``mjsd`` keeps no distribution
(docs/algorithm.md, *Joint tests*); ``mjgd`` is the same with the target as its own draft model.

Then how deep each iteration drafts, from the results of earlier iterations. Every choice keeps the distribution,
because the depth depends on earlier iterations alone. No clock is read, so a run with the same settings and seed makes
the same choices.

*Source:* expected layers by Theorem 3.2 of the paper; docs/algorithm.md, *Depth and auto*.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dsbd.settings import (
    EVERY_METHOD,
    FIELDS,
    METHODS,
    PLAIN,
    DecodingSettings,
    ResolvedSettings,
    fields_of,
    implied_by,
)


class About(NamedTuple):
    """What a reader is told of a method."""

    label: str
    kind: str
    """What it writes: several texts or one; ``for comparison``: it keeps no distribution."""
    plain: str | None = None
    """The method that writes the same with the target alone; None: it is one itself."""


ABOUT = {
    "dsbd": About("DSBD", "several texts", "beam_sampling"),
    "beam_sampling": About("Beam sampling", "several texts"),
    "beam_search": About("Beam search", "several texts"),
    "speculative_beam_search": About("Speculative beam search", "several texts", "beam_search"),
    "sampling": About("Sampling", "one text"),
    "speculative": About("Speculative sampling", "one text", "sampling"),
    "specinfer": About("SpecInfer", "one text", "sampling"),
    "greedy": About("Greedy", "one text"),
    "mjsd": About("Joint test, MJSD", "for comparison", "sampling"),
    "mjgd": About("Best blocks, MJGD", "for comparison", "greedy"),
}
"""Every method, in the order of a form."""
DRAFTING_METHODS = frozenset(name for name, about in ABOUT.items() if about.plain) - {"mjgd"}
"""Methods that call the draft model."""
READS = {method: tuple(one.name for one in fields_of(method) if one.name not in EVERY_METHOD) for method in METHODS}
"""The fields each method reads, besides those that every method reads."""

FORGETTING = 0.95
"""The counts of each iteration are multiplied by this when the next one arrives."""
PROBE_EVERY = 48
"""While drafting does not pay, one iteration in this many drafts anyway, to notice when drafting pays again."""
WORTHWHILE = 1.05
"""Drafting must promise this many times the layers per cost of not drafting: the promise is only an estimate."""
PRIOR_LAYERS = 10.0
"""At the start, the given continuation counts as much as this many observed layers."""


def resolve(settings: DecodingSettings) -> ResolvedSettings:
    """Return the settings that the decoder runs; fields that the method does not read get the values it implies.

    Fields that are ``auto`` must be planned before (``dsbd.auto``).
    """
    read = {name: getattr(settings, name) for name, about in FIELDS.items() if settings.method in about.methods}
    return ResolvedSettings(**PLAIN | read | implied_by(settings))


def needs_draft_model(settings: DecodingSettings) -> bool:
    """Return True if a decode with these settings calls the draft model."""
    drafts_nothing = "draft_depth" in READS[settings.method] and settings.draft_depth == 0
    return settings.method in DRAFTING_METHODS and not drafts_nothing


def expected_layers(continuation: float, depth: int) -> float:
    """Return the expected layers of an iteration: 1 + b + ... + b^depth, if a draft layer passes with probability b."""
    return sum(continuation**layer for layer in range(depth + 1))


class DepthPolicy:
    """Chooses each iteration's draft depth by expected layers over cost.

    Args:
        depth: largest draft depth.
        costs: relative cost of an iteration of each depth, from 0 to ``depth``; None: always ``depth``.
        continuation: how often a draft layer is expected to let verification go on, before any is seen.
    """

    def __init__(self, depth: int, costs: Sequence[float] | None, continuation: float) -> None:
        self._depth, self._costs = depth, costs
        self._passed, self._stopped = PRIOR_LAYERS * continuation, PRIOR_LAYERS * (1.0 - continuation)
        self._idle = 0

    def choose(self) -> int:
        """Return the depth of the next iteration; near the limit the session drafts fewer layers."""
        if self._costs is None or self._depth == 0:
            return self._depth
        best = max(range(1, self._depth + 1), key=lambda depth: (self._layers_per_cost(depth), -depth))
        if self._layers_per_cost(best) > WORTHWHILE * self._layers_per_cost(0) or self._idle + 1 >= PROBE_EVERY:
            return best
        return 0

    def observe(self, depth: int, passed: int, stopped: bool) -> None:
        """Note an iteration: its depth, how many draft layers let verification go on, and whether one fell short."""
        if depth == 0:
            self._idle += 1
            return
        self._idle = 0
        self._passed = FORGETTING * self._passed + passed
        self._stopped = FORGETTING * self._stopped + stopped

    def _layers_per_cost(self, depth: int) -> float:
        assert self._costs is not None
        return expected_layers(self._passed / (self._passed + self._stopped), depth) / self._costs[depth]
