"""Audits the width of a layer: the chain c, S; the acceptance chain; P(m, k); the bounds."""

import math
from collections.abc import Sequence

import numpy as np

from dsbd.settings import ResolvedSettings
from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Draw, Layer, Node


def drafts_asked(settings: ResolvedSettings, layer: int) -> int:
    """Draws from one draft law of a layer: those of the whole layer, or of one parent."""
    if settings.branching is None:
        return settings.draft_width
    return settings.branching[layer - 1] if layer <= len(settings.branching) else 0


class WidthAudit:
    """The width that one layer chose.

    Args:
        checks: of the trace.
        layer: the layer.
        draws: of this layer.
        below: the nodes of this layer below the beams that it extends.
    """

    def __init__(self, checks: Checks, layer: Layer, draws: Sequence[Draw], below: Sequence[Node]) -> None:
        self.checks, self.settings, self.layer, self.draws, self.below = checks, checks.settings, layer, draws, below

    def run(self) -> None:
        """Decide a width that the rule chose."""
        layer, checks = self.layer, self.checks
        drafts, c, S = layer.draws_planned, layer.chain_c, layer.chain_S
        checks.same("length of the chain", (len(c), len(S)), (drafts + 1, drafts + 1))
        checks.close("c of the chain", c[0], 0.0)
        checks.close("S of the chain", S[0], 1.0)
        if checks.is_likely or self.settings.replacement:
            checks.same("planned drafts", drafts, 0 if checks.is_likely else drafts_asked(self.settings, layer.layer))
        for step in range(drafts):
            checks.close(f"c_{step + 2}", c[step + 1], c[step] + S[step])
            checks.at_most(f"S_{step + 2}", S[step + 1], S[step])
            alpha = max(1.0 - S[step + 1] / S[step], 0.0) if S[step] > 0 else 1.0
            checks.close(f"alpha_{step + 1}", layer.acceptance_chain[step], alpha)
        if not checks.is_likely:
            self._residuals()
        distribution = _accepted_distribution(layer.acceptance_chain)
        checks.same("length of P(m, k)", len(layer.accepted_distribution), len(distribution))
        for count, probability in enumerate(distribution):
            checks.close(f"P({drafts}, {count})", layer.accepted_distribution[count], probability)
        likely = self._landing_count() if checks.is_likely else self._accepted_count(distribution)
        self._decided(*self._bounded(likely, layer.target_support))

    def _decided(self, width: int, reason: str) -> None:
        self.checks.same("chosen width", self.layer.width, width)
        self.checks.same("reason of the width", self.layer.width_reason, reason)

    def _residuals(self) -> None:
        """S of the chain against the pairs whose P and Q are recorded; the others add at most the rest of P."""
        drafted = {draw.node: draw.draft_prob for draw in self.draws}
        known = {(pair.parent, pair.token_id): (pair.target_prob, pair.draft_prob) for pair in self.layer.alternatives}
        for node in self.below:
            if node.kind == "drawn" and self.checks.is_greedy:  # certain in its turn, not by P
                continue
            draft = drafted.get(node.id) if node.draft_prob is None else node.draft_prob
            if node.target_prob and draft is not None:
                known[node.parent, node.token_id] = node.target_prob, draft
        rest = 1.0 - math.fsum(target for target, _ in known.values())
        for step, (c, S) in enumerate(zip(self.layer.chain_c, self.layer.chain_S, strict=True), 1):
            least = math.fsum(max(target - c * draft, 0.0) for target, draft in known.values())
            self.checks.at_most(f"least S_{step}", least, S)
            self.checks.at_most(f"S_{step}", S, least + rest)

    def _accepted_count(self, distribution: Sequence[float]) -> int:
        """The largest K with P(accepted >= K) >= threshold."""
        tail = 0.0
        for count in range(len(distribution) - 1, 0, -1):
            tail += distribution[count]
            if tail >= self.settings.width_threshold:
                return count
        return 0

    def _landing_count(self) -> int:
        """The largest K with P(K draws land) >= threshold: the power of the mass that the forest holds.

        Greedy draws without replacement are certain: as many as land, of which only the drawn ones can be seen.
        """
        recorded = self.layer.forest_mass
        if self.checks.is_greedy:
            landed = [draw.landed for draw in self.draws]
            self.checks.close("mass of the forest", recorded, float(landed[0]))
            if self.settings.width_threshold == 0:  # reached by draws that do not land as well
                return min(self.settings.max_width, self.layer.target_support)
            return [*landed, False].index(False)
        held = math.fsum(node.target_prob or 0.0 for node in self.below if node.kind == "cover")
        self.checks.close("mass of the forest", recorded, min(held, 1.0))
        count, mass = 0, recorded or 0.0
        while count < self.settings.max_width and mass ** (count + 1) >= self.settings.width_threshold:
            count += 1
        return count

    def _bounded(self, likely: int, support: int) -> tuple[int, str]:
        width, reason = likely, "threshold"
        if width < self.settings.min_width:
            width, reason = self.settings.min_width, "min_width"
        if width > self.settings.max_width:
            width, reason = self.settings.max_width, "max_width"
        if not self.settings.replacement and width > support:
            width, reason = support, "support"
        return width, reason


def _accepted_distribution(acceptance: Sequence[float]) -> list[float]:
    """P(m, k), draft by draft: how many were accepted so far, and how many were rejected since the last of them."""
    drafts = len(acceptance)
    alpha = np.asarray([*acceptance, 0.0])
    chance = np.zeros((drafts + 1, drafts + 1))  # [accepted, rejections in a row]
    chance[0, 0] = 1.0
    for _ in range(drafts):
        accepted, rejected = chance * alpha, chance * (1.0 - alpha)
        chance = np.zeros_like(chance)
        chance[1:, 0] = accepted[:-1].sum(axis=1)
        chance[:, 1:] = rejected[:, :-1]
    return [float(total) for total in chance.sum(axis=1)]
