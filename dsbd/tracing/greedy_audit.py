"""Temperature 0, decided again: the likeliest pairs of a layer, in order, and nothing likelier left behind.

*Source:* docs/algorithm.md, *The joint law*.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dsbd.settings import ResolvedSettings
from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Draw, Layer, Node

ROUNDING = 1e-6
"""Of a log-weight of the draft model, relative to the largest of its layer: they are added up in single precision."""


class GreedyAudit:
    """The pairs that greedy layers take.

    Args:
        checks: where the audit stands.
        settings: of the decode.
        log_weights: of the nodes so far, by id; minus infinity for impossible ones.
    """

    def __init__(self, checks: Checks, settings: ResolvedSettings, log_weights: Mapping[int, float]) -> None:
        self.checks, self.settings, self.log_weights = checks, settings, log_weights

    def layer(self, layer: Layer, nodes: Sequence[Node], draws: Sequence[Draw]) -> None:
        """What the layer took are the best known pairs, the best one first, and it has all the probability.

        Args:
            layer: the layer.
            nodes: of the layer, below its alive beams.
            draws: of the layer.
        """
        checks, taken = self.checks, [beam.node for beam in layer.beams]
        listed = [pair.target_prob for pair in layer.alternatives]
        checks.same("P of the likeliest pairs", listed, [1.0] + [0.0] * (len(listed) - 1))
        if not self.settings.lossless and not draws:  # a joint test takes what the draft model finds likely
            return
        checks.same("beams are present", bool(taken), True)
        for better, worse in pairwise(taken):
            checks.at_most(f"log-weight of node {worse}", self.log_weights[worse], self.log_weights[better])
        for node in nodes:
            name = f"node {node.id}"
            if node.id not in taken and node.target_log_prob is not None:
                checks.at_most(f"log-weight of {name}", self.log_weights[node.id], self.log_weights[taken[-1]])
            certain = node.id == taken[0] or node.kind == "drawn"
            checks.close(f"P of {name}", node.target_prob, float(certain))
        for draw in draws:
            held = draw.target_prob, draw.cdf_low, draw.cdf_high
            checks.same(f"P and the interval, draw of node {draw.node}", held, (1.0, 0.0, 1.0))

    def forest(self, number: int, nodes: Sequence[Node], weights: Mapping[int, float]) -> None:
        """The nodes of one draft law are its best pairs, the best one first, and it has all the probability.

        Args:
            number: of their layer.
            nodes: in the order of the record.
            weights: their log-weights under the draft model.
        """
        held = [node.draft_prob for node in nodes]
        self.checks.same(f"Q in layer {number}", held, [1.0, 0.0][: len(nodes)] + [0.0] * (len(nodes) - 2))
        allowed = ROUNDING * max([1.0, *(abs(weights[node.id]) for node in nodes)])
        for better, worse in pairwise(nodes):
            name = f"draft's log-weight of node {worse.id}"
            self.checks.at_most(name, weights[worse.id], weights[better.id], allowed)
