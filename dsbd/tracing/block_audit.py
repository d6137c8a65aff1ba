"""Audits a chain under block verification: p, s and the chance of every beginning, and which one is accepted.

*Source:* docs/algorithm.md, *Block verification*.
"""

from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Beginning, Iteration, Layer, Node, Trial


class BlockAudit:
    """The chain of one iteration."""

    def __init__(self, checks: Checks, iteration: Iteration) -> None:
        self.checks, self.iteration, self.beginnings = checks, iteration, iteration.beginnings
        self.is_block = False
        self.accepted = 0
        """How many drafts are accepted together."""

    def run(self) -> None:
        """Decide it again."""
        chain = [node for node in self.iteration.nodes if node.kind == "drafted"] if self.is_block else []
        self.checks.at_most("number of beginnings", len(self.beginnings), len(chain))
        if not chain:
            return
        tried = chain[: len(self.beginnings)]
        self.checks.same("beginnings", [one.node for one in self.beginnings], [node.id for node in tried])
        if len(tried) < len(chain):  # a draft that P rules out ends the block early
            last = [one.target_prob for one in self.beginnings[-1:]]
            self.checks.same("P of the last draft of the block", last, [0.0])
        before, pairs = 1.0, [*zip(self.beginnings, tried, strict=True)]
        for (one, node), below in zip(pairs, [*pairs[1:], None], strict=True):
            self._chance(one, node, before, below)
            before = one.probability
        self.accepted = self._longest()

    def verdict(self, trial: Trial, name: str) -> str:
        """Return the verdict of a draft; its beginning has the numbers, the trial has none."""
        numbers = (trial.residual_prob, trial.c, trial.S, trial.acceptance, trial.uniform)
        self.checks.same(f"numbers of the {name}", numbers, (None,) * len(numbers))
        return "accepted" if trial.layer <= self.accepted else "rejected"

    def residual(self) -> tuple[float, float]:
        """Return c and S of the residual after the accepted beginning: max(P - Q / p, 0) and its sum."""
        probability, rest = 1.0, _rest_after_one(self.iteration.layers[0])
        if self.accepted > 0:
            last = self.beginnings[self.accepted - 1]
            probability, rest = last.probability, last.rest or 0.0
        return (1.0 / probability, rest / probability) if probability > 0 and rest > 0 else (0.0, 1.0)

    def _chance(self, one: Beginning, node: Node, before: float, below: tuple[Beginning, Node] | None) -> None:
        """p, s and the chance of one beginning; ``before`` is p of the one before, ``below`` the next one."""
        checks, name = self.checks, f"beginning up to node {node.id}"
        target, draft = one.target_prob, node.draft_prob or 0.0
        if node.target_prob is not None:
            checks.close(f"P, {name}", target, node.target_prob)
        probability = min(1.0, before * target / draft) if draft > 0 else 0.0
        checks.close(f"p, {name}", one.probability, probability)
        if below is None:
            checks.same(f"s, {name}", one.rest, None)
            checks.close(f"chance, {name}", one.acceptance, one.probability)
            return
        rest = one.rest if one.rest is not None else -1.0
        checks.at_most(f"0 to s, {name}", 0.0, rest)
        following = self.iteration.layers[node.layer] if node.layer < len(self.iteration.layers) else None
        most = one.probability
        if following is not None and following.kind == "draft":
            most *= _rest_after_one(following)
            if one.probability == 1.0:
                checks.close(f"s, {name}", rest, most)
        checks.at_most(f"s, {name}", rest, most)
        least = one.probability * below[0].target_prob - (below[1].draft_prob or 0.0)
        checks.at_most(f"p P - Q of the next draft, {name}", least, rest)
        chance = rest / max(rest + 1.0 - one.probability, rest) if rest > 0 else 0.0
        checks.close(f"chance, {name}", one.acceptance, chance)

    def _longest(self) -> int:
        """The length of the longest accepted beginning; shorter ones have no random number."""
        for place in reversed(range(len(self.beginnings))):
            one = self.beginnings[place]
            if one.uniform is None or not 0.0 <= one.uniform < 1.0:
                name = f"uniform, beginning up to node {one.node},"
                self.checks.broken(f"{name} is {one.uniform}, but a number from 0 to below 1 follows")
            if one.uniform < one.acceptance:
                shorter = [other.uniform for other in self.beginnings[:place]]
                self.checks.same("uniforms of shorter beginnings", shorter, [None] * place)
                return place + 1
        return 0


def _rest_after_one(layer: Layer) -> float:
    """The sum of max(P - Q, 0) of a draft layer, as its chain holds it."""
    return layer.chain_S[1] if len(layer.chain_S) > 1 else 0.0
