"""Watches decodes layer by layer: where a layer stood, how uncertain the target was, what became of its drafts."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from dsbd.law.laws import Law
from dsbd.law.verified import VerifiedLayer
from dsbd.observer import IterationEnd, Observer, RunStart


@dataclass(frozen=True)
class LayerFact:
    """One layer of one decode."""

    position: int
    """Tokens between the prompt and this layer: 0 for the first."""
    layer: int
    """The layer in its iteration, from 1."""
    drafted: bool
    """False for a layer without drafts: the bonus layer."""
    entropy: float
    """Of the target's joint law of the layer, nats."""
    accepted: int
    rejected: int
    beams: int
    """Beams that the layer yielded, duplicates counted."""
    went_on: bool
    """Whether verification went on below it."""


class LayerWatch(Observer):
    """Collects a :class:`LayerFact` for every layer of some decodes."""

    reads_seconds = False

    def __init__(self) -> None:
        self.decodes: list[list[LayerFact]] = []
        """The layers of each decode, in order."""

    def on_start(self, start: RunStart) -> None:
        """Begin another decode."""
        self.decodes.append([])

    def on_iteration(self, iteration: IterationEnd) -> None:
        """Note the layers of one iteration."""
        facts = self.decodes[-1]
        facts += [_fact(len(facts) + place, place + 1, layer) for place, layer in enumerate(iteration.layers)]

    @property
    def widths(self) -> dict[int, int]:
        """How many layers of all decodes yielded how many beams, duplicates counted; in ascending order."""
        return dict(sorted(Counter(fact.beams for facts in self.decodes for fact in facts).items()))


def _fact(position: int, place: int, layer: VerifiedLayer) -> LayerFact:
    verdicts = Counter(trial.verdict for trial in layer.trials)
    return LayerFact(
        position=position,
        layer=place,
        drafted=layer.width is not None,
        entropy=entropy(layer.law),
        accepted=verdicts["accepted"],
        rejected=verdicts["rejected"],
        beams=sum(beam.multiplicity for beam in layer.beams),
        went_on=layer.continues,
    )


def entropy(law: Law) -> float:
    """Return the entropy of a joint law, nats: 0 where one pair is certain.

    >>> from dsbd.law import toy
    >>> round(entropy(toy.target_law()), 4)  # 1/2, 1/8, 1/8, 1/4: 1.75 bits
    1.213
    """
    probs = law.probs[law.probs > 0]
    return max(float(-(probs * np.log(probs)).sum()), 0.0)
