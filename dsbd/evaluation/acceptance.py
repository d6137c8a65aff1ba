"""How drafts fare by the layer of the forest, by the place in the text, and by how uncertain the target is there.

Acceptance is accepted / (accepted + rejected), as in docs/algorithm.md, *What the numbers mean*. Beside it stands the
share of draft layers below which verification went on: a likely forest has no trials, so only this share. Needs no
torch.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.evaluation.statistics import Mean, clustered_ratio
from dsbd.measure.bench.plain import from_plain
from dsbd.measure.layer_watch import LayerFact

POSITIONS = 8
"""Tokens that one bin of positions spans."""
ENTROPY_BINS = 8


@dataclass(frozen=True, kw_only=True)
class Bin:
    """The draft layers of one bin."""

    low: float
    high: float
    """The least and the largest value in the bin."""
    middle: float
    """The mean value in the bin."""
    layers: int
    acceptance: Mean | None
    """accepted / (accepted + rejected), over prompts; None where nothing was tried."""
    went_on: Mean | None
    """The share of the layers below which verification went on."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceTable:
    """Acceptance of one contender, three ways."""

    contender: str
    by_layer: tuple[Bin, ...]
    by_position: tuple[Bin, ...]
    """Tokens after the prompt, eight to a bin."""
    by_entropy: tuple[Bin, ...]
    """Entropy of the target's joint law of the layer, nats; bins with equally many layers."""


def read_acceptance(data: AcceptanceTable | Mapping[str, Any]) -> AcceptanceTable:
    """Return a table from its plain data; an :class:`AcceptanceTable` is returned as it is.

    Raises:
        ValueError: it is no such table; the message names the first wrong field.
    """
    if isinstance(data, AcceptanceTable):
        return data
    try:
        return from_plain(AcceptanceTable, data)
    except ValueError as error:
        raise ValueError(f"no table of acceptance: {error}; give what benchmarks/acceptance.py wrote") from None


Decode = tuple[Hashable, Sequence[LayerFact]]
"""A cluster, such as the prompt, and the layers of one decode."""


def acceptance_table(contender: str, decodes: Sequence[Decode]) -> AcceptanceTable:
    """Return the acceptance of a contender over its draft layers; the errors are over clusters.

    Args:
        contender: its name.
        decodes: as a :class:`~dsbd.measure.layer_watch.LayerWatch` collected them.
    """
    entropies = sorted(fact.entropy for _, facts in decodes for fact in facts if fact.drafted)
    edges = sorted(
        {entropies[len(entropies) * place // ENTROPY_BINS] for place in range(ENTROPY_BINS)} if entropies else ()
    )
    return AcceptanceTable(
        contender=contender,
        by_layer=_bins(decodes, lambda fact: fact.layer, lambda value: value),
        by_position=_bins(decodes, lambda fact: fact.position, lambda value: value // POSITIONS),
        by_entropy=_bins(decodes, lambda fact: fact.entropy, lambda value: sum(edge <= value for edge in edges)),
    )


def _bins(
    decodes: Sequence[Decode], value_of: Callable[[LayerFact], float], bin_of: Callable[[float], float]
) -> tuple[Bin, ...]:
    found: dict[float, list[tuple[Hashable, LayerFact]]] = {}
    for cluster, facts in decodes:
        for fact in facts:
            if fact.drafted:
                found.setdefault(bin_of(value_of(fact)), []).append((cluster, fact))
    return tuple(_bin(found[name], value_of) for name in sorted(found))


def _bin(facts: Sequence[tuple[Hashable, LayerFact]], value_of: Callable[[LayerFact], float]) -> Bin:
    clusters, values = [cluster for cluster, _ in facts], [value_of(fact) for _, fact in facts]
    accepted = [float(fact.accepted) for _, fact in facts]
    tried = [float(fact.accepted + fact.rejected) for _, fact in facts]
    return Bin(
        low=min(values),
        high=max(values),
        middle=sum(values) / len(values),
        layers=len(facts),
        acceptance=clustered_ratio(accepted, tried, clusters),
        went_on=clustered_ratio([float(fact.went_on) for _, fact in facts], [1.0] * len(facts), clusters),
    )
