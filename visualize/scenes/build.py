"""Builds a scene from a trace: at once, or iteration by iteration while a decode runs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dsbd.errors import TraceError
from dsbd.results import ITERATION_PHASES, count_verdicts
from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import ROOT, BeamRecord, InputBeam, Iteration, Node, Prompt, Result
from dsbd.tracing.trace import Trace
from visualize.layout import tidy
from visualize.scenes.records import (
    BeamScene,
    IterationScene,
    NodeScene,
    Scene,
    Statistics,
    TokenScene,
    WholeScene,
)
from visualize.scenes.steps import StepList
from visualize.scenes.whole import whole_tree
from visualize.tokens import columns, decode_piece, flowing, hex_bytes, piece_label, shorten, visible
from visualize.words.words import Words

PATH_CHARACTERS = 48
"""How much of a beam's text the card of a node shows."""
RECORDED = ("kind", "ends", "target_prob", "draft_prob", "target_log_prob", "draft_log_prob")
"""What a node below an input beam has as recorded."""
COVER_HEIGHT = 0.62
"""Rows that a cover node takes: they are many and small, except those that a beam landed on."""


class SceneBuilder:
    """Builds the scene of a decode one iteration at a time.

    Args:
        prompt: as recorded; None if it is not known.
        settings: as resolved; with None the reasons of the widths are unknown.
        title: shown above the drawing, the method's name for instance.
        models: names of the models, target first.
        language: of the sentences.

    Example:
        >>> builder = visualize.SceneBuilder(None)
        >>> for update in dsbd.stream(pair, "Once upon a time", record=True):
        ...     builder.add(update.iteration)

    Raises:
        ValueError: there are no sentences in this language.
    """

    def __init__(
        self,
        prompt: Prompt | None,
        settings: ResolvedSettings | None = None,
        *,
        title: str = "",
        models: Iterable[str] = (),
        language: str = "en",
    ) -> None:
        self.settings, self.title, self.models = settings, title, tuple(models)
        self.words = Words(language)
        self.statistics = Statistics()
        self.iterations: list[IterationScene] = []
        self._nodes: dict[int, Node] = {}
        self._tokens: dict[int, TokenScene] = {}
        self._said: dict[int, tuple[str, bytes]] = {}
        self._origins: dict[int, str] = {}
        self._whole: tuple[int, bool, WholeScene] | None = None
        self.prompt = self._read_prompt(prompt)
        self.memory = prompt.memory if prompt else None

    def add(self, iteration: Iteration) -> IterationScene:
        """Return the scene of the next iteration; add earlier iterations first.

        Raises:
            TraceError: a node does not hang below an input beam, or is not known.
        """
        members = self._members(iteration)
        roots = [beam.node for beam in iteration.input_beams]
        columns_of, rows = forest_places(iteration, members.values())
        places = {node: place for place, node in enumerate([*roots, *members])}
        before = self.statistics.layers
        told = StepList(iteration, self._nodes, places, self.words, self.settings, before)
        self._origins.update((node, look[0]) for node, look in told.looks.items() if node in members)
        after = self._beams_after(iteration)
        kept = self._kept(after, members)
        weights = {beam.node: beam.log_weight for beam in iteration.input_beams}
        parents = dict.fromkeys(roots, -1) | {id_: places[node.parent] for id_, node in members.items()}
        nodes = tuple(
            self._node(id_, parent, columns_of[id_], rows[id_], id_ in kept, weights.get(id_), told)
            for id_, parent in parents.items()
        )
        scene = IterationScene(
            index=iteration.index,
            last_column=max(columns_of.values(), default=0),
            last_row=max(rows.values(), default=0.0),
            nodes=nodes,
            layers=tuple(told.layers),
            steps=tuple(told.steps),
            scored_step=told.scored_step,
            beams_before=self._beams(iteration.input_beams, finished=False),
            beams_after=after,
            record=iteration,
            slots_before=self._slots_before(iteration),
            before=before,
        )
        self.iterations.append(scene)
        self.statistics = _counted(self.statistics, iteration)
        return scene

    def scene(self, result: Result | None = None, *, last: int | None = None) -> Scene:
        """Return the scene so far.

        Args:
            result: the result, once there is one.
            last: keep only this many of the newest iterations; the text stays whole.
        """
        iterations = self.iterations if last is None else self.iterations[max(0, len(self.iterations) - last) :]
        beams = () if result is None else tuple(result.beams)
        settings = {} if self.settings is None else dict(vars(self.settings))
        return Scene(
            self.title, self.models, settings, self.prompt, tuple(self._tokens.values()), tuple(iterations),
            self.statistics, beams, self.words.table, self._joined(beams), self.memory,
        )  # fmt: skip

    def _joined(self, result: tuple[BeamRecord, ...]) -> WholeScene:
        """All iterations as one tree, placed again only when something is new."""
        count, ranked = len(self.iterations), bool(result)
        if self._whole is None or self._whole[:2] != (count, ranked):
            penalty = 1.0 if self.settings is None else self.settings.length_penalty
            self._whole = count, ranked, whole_tree(self.iterations, result, length_penalty=penalty)
        return self._whole[2]

    def _members(self, iteration: Iteration) -> dict[int, Node]:
        """The nodes below the input beams: those it added, and earlier ones that it names again."""
        self._nodes.update((node.id, node) for node in iteration.nodes)
        members = {node.id: node for node in iteration.nodes}
        roots = {beam.node for beam in iteration.input_beams}
        named = [trial.node for trial in iteration.trials] + [draw.node for draw in iteration.draws]
        for node in named:
            if node not in members and node not in roots:
                if node not in self._nodes:
                    raise TraceError(f"iteration {iteration.index} names node {node}; add the earlier iterations first")
                members[node] = self._nodes[node]
        return members

    def _slots_before(self, iteration: Iteration) -> int | None:
        if iteration.index == 0:
            return iteration.kept.prompt_slots
        return self.iterations[-1].record.kept.slots_kept if self.iterations else None

    def _read_prompt(self, prompt: Prompt | None) -> tuple[str, ...]:
        texts, pending = [], b""
        for piece in prompt.pieces if prompt else ():
            if piece.special:
                continue
            text, pending = decode_piece(piece, pending)
            texts.append(flowing(text))
        self._said[ROOT] = ("".join(texts)[-PATH_CHARACTERS:], pending)
        return tuple(texts) or ((flowing(prompt.text),) if prompt and prompt.text else ())

    def _say(self, node: int) -> tuple[str, bytes]:
        """The end of the running text up to a node, and the bytes that wait; unknown nodes say nothing."""
        waiting = []
        while node not in self._said and node in self._nodes:
            waiting.append(node)
            node = self._nodes[node].parent
        said, pending = self._said.get(node, ("", b""))
        for below in reversed(waiting):
            text, pending = decode_piece(self._nodes[below], pending)
            said = (said + flowing(text))[-PATH_CHARACTERS:]
            self._said[below] = (said, pending)
        return said, pending

    def _node(
        self, id_: int, parent: int, column: int, row: float, kept: bool, log_weight: float | None, told: StepList
    ) -> NodeScene:
        """The scene of an input beam (its parent is -1) or of a node below one."""
        node, is_input = self._nodes.get(id_), parent < 0
        (adds, pending), completes = self._say(id_), ""
        token = self.words("node.prompt") if node is None else piece_label(node)
        numbers: dict[str, Any] = {"kind": "input"}
        if node is not None and not is_input:
            before = self._say(node.parent)[1]
            text = decode_piece(node, before)[0]
            adds, completes = flowing(text), visible(text) if before and text else ""
            numbers = {name: getattr(node, name) for name in RECORDED}
        state, slots, landed = told.looks.get(id_, (numbers["kind"], 0, False))
        return NodeScene(
            id=id_,
            parent=parent,
            column=column,
            row=row,
            label=shorten(token),
            label_columns=columns(shorten(token)),
            token=token,
            adds=adds,
            pending=_waiting(pending),
            token_id=node.token_id if node else None,
            state=state,
            slots=slots,
            kept=kept,
            completes=completes,
            landed=landed,
            log_weight=log_weight,
            facts=tuple(told.facts[id_]),
            **numbers,
        )

    def _beams(self, beams: Iterable[InputBeam], finished: bool) -> tuple[BeamScene, ...]:
        ranked = sorted(beams, key=lambda beam: -beam.log_weight)
        for beam in ranked:
            self._remember(beam.node)
        return tuple(BeamScene(beam.node, beam.multiplicity, beam.log_weight, finished) for beam in ranked)

    def _beams_after(self, iteration: Iteration) -> tuple[BeamScene, ...]:
        ended = [beam for layer in iteration.layers for beam in layer.beams if beam.node in layer.finished]
        return self._beams(iteration.output_beams, finished=False) + self._beams(ended, finished=True)

    def _remember(self, node: int) -> None:
        """Put the tokens on the way to a beam into the table of the running text."""
        path = []
        while node != ROOT and node not in self._tokens and node in self._nodes:
            path.append(self._nodes[node])
            node = path[-1].parent
        for entry in reversed(path):
            text, pending = decode_piece(entry, self._say(entry.parent)[1])
            origin = self._origins.get(entry.id, "accepted")
            self._tokens[entry.id] = TokenScene(entry.id, entry.parent, flowing(text), _waiting(pending), origin)

    def _kept(self, beams: tuple[BeamScene, ...], members: dict[int, Node]) -> set[int]:
        kept = set()
        for beam in beams:
            node = beam.node
            while node in members:
                kept.add(node)
                node = members[node].parent
            kept.add(node)
        return kept


def forest_places(iteration: Iteration, nodes: Iterable[Node]) -> tuple[dict[int, int], dict[int, float]]:
    """Return the column (0 for input beams, else the layer) and the row of every node of a forest, by id.

    Args:
        iteration: its input beams are the roots.
        nodes: the nodes below them, parents first.

    Raises:
        TraceError: a node does not hang below an input beam.
    """
    roots = [beam.node for beam in iteration.input_beams]
    landed = {draw.node for draw in iteration.draws}
    columns_of, heights = dict.fromkeys(roots, 0), {}
    children: dict[int, list[int]] = {}
    for node in nodes:
        if node.parent not in columns_of:
            raise TraceError(
                f"damaged trace: iteration {iteration.index + 1}: node {node.id} hangs below no input beam"
            )
        columns_of[node.id] = columns_of[node.parent] + 1
        children.setdefault(node.parent, []).append(node.id)
        if node.kind == "cover" and node.id not in landed:
            heights[node.id] = COVER_HEIGHT
    return columns_of, {node: round(row, 3) for node, row in tidy(children, roots, heights).items()}


def _waiting(pending: bytes) -> str:
    return hex_bytes(pending) if pending else ""


def build_scene(trace: Trace, *, language: str = "en") -> Scene:
    """Return the scene of a whole trace.

    Raises:
        TraceError: a node hangs below no input beam.
        ValueError: there are no sentences in this language.
    """
    models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
    builder = SceneBuilder(trace.prompt, trace.settings, title=trace.settings.method, models=models, language=language)
    for iteration in trace.iterations:
        builder.add(iteration)
    return replace(builder.scene(trace.result), trace=trace)


def _counted(so_far: Statistics, iteration: Iteration) -> Statistics:
    phases = (getattr(iteration.phases, f"{phase}_seconds") for phase in ITERATION_PHASES)
    return Statistics(
        iterations=so_far.iterations + 1,
        layers=so_far.layers + len(iteration.layers),
        widths=so_far.widths + sum(layer.width for layer in iteration.layers),
        seconds=so_far.seconds + sum(phases),
        verdicts=so_far.verdicts + count_verdicts(iteration.trials, iteration.draws),
    )
