"""Turns one iteration of a decode into its record."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dsbd.law.beams import Node as BeamNode
from dsbd.law.verdicts import TAKEN
from dsbd.law.verified import VerifiedLayer
from dsbd.observer import IterationEnd, RunStart
from dsbd.results import ITERATION_PHASES
from dsbd.tracing.records import (
    ALTERNATIVES,
    Alternative,
    Beginning,
    Draw,
    InputBeam,
    Iteration,
    JointSums,
    KeptSlots,
    Layer,
    Node,
    NodeKind,
    Phases,
    Trial,
)

if TYPE_CHECKING:
    from dsbd.law.forest import DraftLaw

REASONS = {
    "accepted": "the uniform is below P'/Q",
    "rejected": "the uniform is not below P'/Q",
    "orphaned": "its parent is not alive",
    "unneeded": "the layer already had its width",
}
JOINT_REASONS = {
    "accepted": "the beam up to it reaches the threshold",
    "carried": "the beam up to it does not reach the threshold, but a longer beginning does",
    "rejected": "neither the beam up to it nor a longer beginning reaches the threshold",
}
BLOCK_REASONS = {
    "accepted": "it belongs to the longest accepted beginning",
    "rejected": "no beginning that holds it is accepted",
}
PairProbs = dict[tuple[BeamNode, int], float]


class IterationWriter:
    """Writes one iteration as plain data, and gives new nodes their ids.

    Args:
        raw: the iteration as the decode left it.
        start: of its run.
        ids: of every node of earlier iterations, and of the root; those of this one are added.
    """

    def __init__(self, raw: IterationEnd, start: RunStart, ids: dict[BeamNode, int]) -> None:
        self.raw = raw
        self.ids = ids
        self.piece = start.pair.token_bytes.piece
        self.eos = start.pair.eos
        self.is_branched = start.settings.branching is not None
        self.beginnings = {beginning.node: beginning for beginning in raw.layers[0].beginnings}
        self.nodes: list[Node] = []
        self.reasons = BLOCK_REASONS if self.beginnings else REASONS
        self.scored = {node for node in raw.scored.slots if node is not None}
        self.drawn = {draw.node for layer in raw.layers for draw in layer.draws}
        self.draft_probs = [_pair_probs(layer.laws) for layer in raw.scored.forest.layers]

    def write(self) -> Iteration:
        """Return the record; once only, since it gives ids."""
        raw = self.raw
        input_beams = self._beams(raw.input_beams)
        self._forest_nodes()
        for number, layer in enumerate(raw.layers, 1):
            self._drawn_nodes(number, layer)
        return Iteration(
            index=raw.index,
            input_beams=input_beams,
            draft_depth=len(raw.scored.forest.layers),
            nodes=self.nodes,
            layers=[self._layer(number, layer) for number, layer in enumerate(raw.layers, 1)],
            trials=[trial for layer in raw.layers for trial in self._trials(layer)],
            draws=[draw for number, layer in enumerate(raw.layers, 1) for draw in self._draws(number, layer)],
            output_beams=self._beams(raw.output_beams),
            kept=KeptSlots(raw.prompt_slots, raw.slots_scored, raw.slots_kept, [self.ids[node] for node in raw.kept]),
            phases=Phases(**{f"{name}_seconds": raw.seconds[name] for name in ITERATION_PHASES}),
            beginnings=[
                Beginning(self.ids[one.node], one.target_prob, one.probability, one.rest, one.acceptance, one.uniform)
                for one in self.beginnings.values()
            ],
        )

    def _beams(self, beams: object) -> list[InputBeam]:
        assert isinstance(beams, (list, tuple))
        return [InputBeam(self.ids[beam.node], beam.multiplicity, beam.log_weight) for beam in beams]

    def _forest_nodes(self) -> None:
        for number, layer in enumerate(self.raw.scored.forest.layers, 1):
            drafts = dict.fromkeys(layer.drafts)
            for node in (*drafts, *layer.covers):
                kind: NodeKind = "drafted" if node in drafts else "cover"
                target, draft = self._target_log_prob(node), self.raw.scored.draft_log_probs[node]
                probs = self._target_prob(number, node), self.draft_probs[number - 1].get(_content(node), 0.0)
                self._add(node, number, kind, (_finite(target), _finite(draft)), probs)

    def _target_log_prob(self, node: BeamNode) -> float:
        """Return the log-probability of a forest node; minus infinity if the target neither scored nor drew it."""
        if node in self.scored:
            return self.raw.scored.next_tokens.log_prob(node)
        return self._row_log_prob(node) if node in self.drawn else -np.inf

    def _row_log_prob(self, node: BeamNode) -> float:
        """Return the log-probability of a node that was drawn, from the row after its parent."""
        assert node.parent is not None
        (row,) = self.raw.scored.next_tokens([node.parent])
        return float(row.log_probs[row.tokens == node.token][0])

    def _drawn_nodes(self, number: int, layer: VerifiedLayer) -> None:
        for draw in layer.draws:
            if draw.node not in self.ids:
                target = self._row_log_prob(draw.node)
                self._add(draw.node, number, "drawn", (target, None), (draw.target_prob, None))

    def _add(
        self,
        node: BeamNode,
        layer: int,
        kind: NodeKind,
        log_probs: tuple[float | None, float | None],
        probs: tuple[float | None, float | None],
    ) -> None:
        assert node.parent is not None
        text, content = self.piece(node.token)
        self.ids[node] = len(self.ids)
        self.nodes.append(
            Node(
                id=self.ids[node],
                parent=self.ids[node.parent],
                layer=layer,
                token_id=node.token,
                text=text,
                kind=kind,
                ends=node.token in self.eos,
                target_log_prob=log_probs[0],
                draft_log_prob=log_probs[1],
                target_prob=probs[0],
                draft_prob=probs[1],
                bytes=content,
            )
        )

    def _target_prob(self, number: int, node: BeamNode) -> float | None:
        """Return P at a forest node; None if its layer, or in a tree its parent's law, was not reached."""
        if number > len(self.raw.layers):
            return None
        layer = self.raw.layers[number - 1]
        for place, beam in enumerate(layer.alive):
            if beam.node is node.parent:
                index = layer.law.find(place, node.token)
                return 0.0 if index is None else float(layer.law.probs[index])
        return None if self.is_branched else 0.0

    def _layer(self, number: int, layer: VerifiedLayer) -> Layer:
        width = layer.width
        numbers = None if width is None else width.numbers
        return Layer(
            layer=number,
            kind="bonus" if layer.is_bonus else "draft",
            alive=[self.ids[beam.node] for beam in layer.alive],
            draws_planned=0 if numbers is None else len(numbers.acceptance),
            chain_c=[] if numbers is None else numbers.chain.c,
            chain_S=[] if numbers is None else numbers.chain.S,
            acceptance_chain=[] if numbers is None else numbers.acceptance,
            accepted_distribution=[] if numbers is None else numbers.distribution,
            target_support=layer.law.support,
            width=len(layer.draws) if width is None else width.width,
            width_reason="bonus" if numbers is None else numbers.reason,
            accepted=sum(trial.verdict in TAKEN for trial in layer.trials),
            outcome=layer.outcome,
            beams=self._beams(layer.beams),
            finished=[self.ids[beam.node] for beam in layer.beams if beam.node.token in self.eos],
            alternatives=self._alternatives(number, layer),
            forest_mass=None if width is None else width.forest_mass,
            width_uniform=None if width is None or width.drawn is None else width.drawn.uniform,
        )

    def _alternatives(self, number: int, layer: VerifiedLayer) -> list[Alternative]:
        best = (-layer.law.probs).argsort(kind="stable")[:ALTERNATIVES]  # ties in the order of the pairs
        rows = []
        for index in best.tolist():
            place, token = layer.law.pair(index)
            parent = layer.alive[place].node
            node = self.raw.scored.forest.find(parent, token)
            rows.append(
                Alternative(
                    parent=self.ids[parent],
                    token_id=token,
                    text=self.piece(token)[0],
                    target_prob=float(layer.law.probs[index]),
                    draft_prob=float(layer.draft_probs[index]),
                    node=None if node is None else self.ids[node],
                )
            )
        return rows

    def _layer_of(self, node: BeamNode) -> int:
        """Return the layer of a forest node; a joint test tries nodes below the last layer that came out, too."""
        return node.length - self.raw.input_beams[0].node.length

    def _trials(self, layer: VerifiedLayer) -> list[Trial]:
        return [
            Trial(
                layer=self._layer_of(trial.node),
                order=trial.order,
                node=self.ids[trial.node],
                verdict=trial.verdict,
                reason=(self.reasons if trial.joint is None else JOINT_REASONS)[trial.verdict],
                draft_prob=trial.draft_prob,
                residual_prob=trial.residual_prob,
                c=trial.c,
                S=trial.S,
                acceptance=trial.acceptance,
                uniform=trial.uniform,
                joint=None if trial.joint is None else JointSums(_finite(trial.joint.target), *trial.joint[1:]),
            )
            for trial in layer.trials
        ]

    def _draws(self, number: int, layer: VerifiedLayer) -> list[Draw]:
        return [
            Draw(
                layer=number,
                order=order,
                kind=draw.kind,
                node=self.ids[draw.node],
                landed=draw.landed,
                target_prob=draw.target_prob,
                draft_prob=draw.draft_prob,
                c=draw.c,
                S=draw.S,
                uniform=draw.drawn.uniform,
                cdf_low=draw.drawn.low,
                cdf_high=draw.drawn.high,
            )
            for order, draw in enumerate(layer.draws)
        ]


def _content(node: BeamNode) -> tuple[BeamNode, int]:
    assert node.parent is not None
    return node.parent, node.token


def _pair_probs(laws: "Sequence[DraftLaw]") -> PairProbs:
    return {
        (law.parents[place], token): prob
        for law in laws
        for place, token, prob in zip(law.parent_places.tolist(), law.tokens.tolist(), law.probs.tolist(), strict=True)
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
