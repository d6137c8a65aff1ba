"""Turns a decode into a trace: each iteration becomes its record once it is committed."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from dsbd.iteration import Iteration
from dsbd.machine import versions
from dsbd.results import ITERATION_PHASES, count_verdicts
from dsbd.session import Observer, RunStart
from dsbd.tracing import records
from dsbd.tracing.trace import FORMAT, Trace, canonical_digest
from dsbd.verification.beams import Beam, Node
from dsbd.verification.verified import Draw, Trial, VerifiedLayer

if TYPE_CHECKING:
    from dsbd.models.language_model import LanguageModel
    from dsbd.models.pair import Pair
    from dsbd.results import DecodingResult


class IterationWriter:
    """Writes one iteration as plain data, and gives new nodes their ids.

    Args:
        raw: the iteration as the decode left it.
        start: of its run.
        ids: of every node of earlier iterations, and of the root; those of this one are added.
    """

    def __init__(self, raw: Iteration, start: RunStart, ids: dict[Node, int]) -> None:
        self.raw, self.ids = raw, ids
        self.piece, self.eos = start.pair.token_bytes.piece, start.pair.eos
        self.is_branched = start.settings.branching is not None
        self.nodes: list[records.NodeRecord] = []

    def write(self) -> records.IterationRecord:
        """Return the record. Call it once: it gives ids."""
        raw = self.raw
        self._forest_nodes()
        for number, layer in enumerate(raw.layers, 1):
            for draw in layer.draws:
                if draw.node not in self.ids:
                    self._add(draw.node, number, "drawn", self._drawn_log_prob(draw.node), None, draw.target_prob, None)
        trials = [trial for layer in raw.layers for trial in layer.trials]
        draws = [draw for layer in raw.layers for draw in layer.draws]
        return records.IterationRecord(
            index=raw.index,
            input_beams=self._beams(raw.input_beams),
            draft_depth=len(raw.drafted),
            nodes=self.nodes,
            layers=[self._layer(number, layer) for number, layer in enumerate(raw.layers, 1)],
            trials=[Trial(**vars(trial) | {"node": self.ids[trial.node]}) for trial in trials],
            draws=[Draw(**vars(draw) | {"node": self.ids[draw.node]}) for draw in draws],
            output_beams=self._beams(raw.output_beams),
            kept=records.KeptSlots(
                raw.prompt_slots, raw.slots_scored, raw.slots_kept, [self.ids[node] for node in raw.kept]
            ),
            phases=records.Phases(**{f"{name}_seconds": raw.seconds[name] for name in ITERATION_PHASES}),
        )

    def _beams(self, beams: Sequence[Beam]) -> list[records.InputBeam]:
        return [records.InputBeam(self.ids[beam.node], beam.multiplicity, beam.log_weight) for beam in beams]

    def _forest_nodes(self) -> None:
        """Add the nodes of the forest. A node that the target neither scored nor drew has no target log-probability."""
        raw, scored = self.raw, set(self.raw.scored)
        drawn = {draw.node for layer in raw.layers for draw in layer.draws}
        for number, layer in enumerate(raw.drafted, 1):
            drafts = dict.fromkeys(layer.drafts)
            for node in (*drafts, *layer.untested):
                assert node.parent is not None
                target, family = -np.inf, layer.of(node.parent)
                if node in scored:
                    target = raw.next_tokens.log_prob(node)
                elif node in drawn:
                    target = self._drawn_log_prob(node)
                kind: records.NodeKind = "drafted" if node in drafts else "cover"
                probs = self._target_prob(number, node), family.distribution.probability(node) if family else 0.0
                self._add(node, number, kind, target, raw.draft_log_probs[node], *probs)

    def _drawn_log_prob(self, node: Node) -> float:
        """Return the log-probability of a node that was drawn, from the next tokens after its parent."""
        assert node.parent is not None
        ((tokens, log_probs),) = self.raw.next_tokens([node.parent])
        return float(log_probs[tokens == node.token][0])

    def _add(
        self,
        node: Node,
        layer: int,
        kind: records.NodeKind,
        target_log_prob: float,
        draft_log_prob: float | None,
        target_prob: float | None,
        draft_prob: float | None,
    ) -> None:
        assert node.parent is not None
        text, content = self.piece(node.token)
        self.ids[node] = len(self.ids)
        known = self.ids[node], self.ids[node.parent], layer, node.token, text, kind, node.token in self.eos
        logs = _finite(target_log_prob), _finite(draft_log_prob)
        self.nodes.append(records.NodeRecord(*known, *logs, target_prob, draft_prob, content))

    def _target_prob(self, number: int, node: Node) -> float | None:
        """Return P at a forest node; None if its layer, or in a tree its parent's distribution, was not reached."""
        if number > len(self.raw.layers):
            return None
        layer = self.raw.layers[number - 1]
        parent = next((index for index, beam in enumerate(layer.alive) if beam.node is node.parent), None)
        if parent is not None:
            candidate = layer.distribution.find(parent, node.token)
            return 0.0 if candidate is None else float(layer.distribution.probs[candidate])
        return None if self.is_branched else 0.0

    def _layer(self, number: int, layer: VerifiedLayer) -> records.Layer:
        numbers = layer.width.numbers
        best = (-layer.distribution.probs).argsort(kind="stable")[: records.ALTERNATIVES]
        return records.Layer(
            layer=number,
            kind="bonus" if numbers.width_reason == "bonus" else "draft",
            alive=[self.ids[beam.node] for beam in layer.alive],
            draws_planned=len(numbers.acceptance_chain),
            **numbers._asdict(),
            target_support=layer.distribution.support,
            width=layer.width.width,
            accepted=count_verdicts(layer.trials)["accepted"],
            outcome=layer.outcome,
            beams=self._beams(layer.beams),
            finished=[self.ids[beam.node] for beam in layer.beams if beam.node.token in self.eos],
            alternatives=[self._alternative(layer, index) for index in best.tolist()],
        )

    def _alternative(self, layer: VerifiedLayer, index: int) -> records.Alternative:
        beam, token = layer.distribution.candidate(index)
        parent, text = layer.alive[beam].node, self.piece(token)[0]
        node = self.raw.forest.find(parent, token)
        probs = float(layer.distribution.probs[index]), float(layer.draft_probs[index])
        return records.Alternative(self.ids[parent], token, text, *probs, None if node is None else self.ids[node])


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


class Recorder(Observer):
    """Collects the records of a decode; ``trace()`` returns what is there so far."""

    def on_start(self, start: RunStart) -> None:
        self._start, history = start, start.known.history
        self._history_tokens = 0 if history is None else len(history)
        self._iterations: list[records.IterationRecord] = []
        self._ids: dict[Node, int] = {start.root: records.ROOT}
        self._finish: DecodingResult | None = None

    def on_iteration(self, iteration: Iteration) -> None:
        self._iterations.append(IterationWriter(iteration, self._start, self._ids).write())

    def on_finish(self, result: "DecodingResult") -> None:
        self._finish = result

    def latest(self) -> records.IterationRecord:
        """Return the newest iteration."""
        return self._iterations[-1]

    def opening(self) -> Trace:
        """Return the trace before the first iteration, without a digest."""
        start, pair = self._start, self._start.pair
        return Trace(
            format=FORMAT,
            software={**versions(), "engine": " + ".join(model.engine for model in pair.models)},
            models=model_records(pair),
            settings=start.settings,
            seed=start.settings.seed,
            prompt=self._prompt(),
            iterations=[],
            result=None,
            stop=list(start.stop),
            guess=[list(ids) for ids in start.known.guesses],
            history=self._history_tokens,
        )

    def trace(self) -> Trace:
        """Return what is recorded so far; without a result if the decode was cancelled or stopped."""
        result = None if self._finish is None else self._result(self._finish)
        trace = replace(self.opening(), iterations=list(self._iterations), result=result)
        return replace(trace, digest=canonical_digest(trace))

    def _prompt(self) -> records.Prompt:
        """Return the prompt as the models saw it."""
        special = set(self._start.pair.tokenizer.all_special_ids)
        piece = self._start.pair.token_bytes.piece
        pieces = [records.Piece(token, *piece(token), token in special) for token in self._start.prompt_ids]
        return records.Prompt(self._start.prompt, pieces, self._memory())

    def _memory(self) -> records.MemoryRecord | None:
        memory, pair = self._start.memory, self._start.pair
        if memory is None or pair.target.memory is None:
            return None
        segments = [
            records.SegmentRecord(len(one.ids), pair.detokenize(one.ids), one.first_memory, list(one.weights))
            for one in memory.segments
        ]
        return records.MemoryRecord(pair.target.memory.name, segments, memory.sensory, memory.digest)

    def _result(self, result: "DecodingResult") -> records.Result:
        below = {(node.parent, node.token): node for node in self._ids}  # of equal ones the last, which was kept
        beams = [records.BeamRecord(node=self._end(beam.token_ids, below), **asdict(beam)) for beam in result.beams]
        stats = asdict(result.stats)
        for name, value in stats.items():  # JavaScript writes 4.0 as 4, and the digest must stay
            if isinstance(value, float) and value.is_integer():
                stats[name] = int(value)
        return records.Result(result.text, result.token_ids, beams, stats)

    def _end(self, token_ids: Sequence[int], below: dict[tuple[Node | None, int], Node]) -> int:
        """Return the id of the node that these tokens lead to."""
        node = self._start.root
        for token in token_ids:
            node = below[node, token]
        return self._ids[node]


def model_records(pair: "Pair") -> records.Models:
    """Return the records of a pair's models; a draft source has the target's vocabulary."""
    target = _model_record(pair.target)
    if pair.source is not None:
        name, way = _utf8(pair.source.record.id), "copies" if pair.copies else "source"
        return records.Models(target, records.ModelRecord(name, None, "none", "cpu", target.vocabulary_size, way))
    draft = next(map(_model_record, pair.models[1:]), None)
    return records.Models(target, draft)


def _model_record(model: "LanguageModel") -> records.ModelRecord:
    numbers, device, size = model.numbers, str(model.device), model.vocabulary_size
    return records.ModelRecord(_utf8(model.id), model.revision, numbers, device, size, model.attention)


def _utf8(name: str) -> str:
    """Return a name without bytes that are no text, which the name of a folder may hold."""
    return name.encode(errors="replace").decode()
