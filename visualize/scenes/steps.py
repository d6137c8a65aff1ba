"""Lists the steps of an iteration in the order they happened, each with its sentence.

The order: draft (a step for each layer), score, the tested beginnings of a block, then for each layer its width, its
trials, its draws and its outcome, and at last the commit.
"""

from collections import defaultdict
from collections.abc import Iterable

from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import Draw, Iteration, Layer, Node, Trial
from visualize.look.states import YIELDED
from visualize.scenes.chances import chances_of
from visualize.scenes.records import Change, Fact, LayerScene, StepScene
from visualize.scenes.tokens import piece_label
from visualize.words.words import Words

Look = tuple[str, int, bool]
"""State, slots and landed mark of a node."""


class StepList:
    """Steps, layers and the facts about each node, collected in one pass over an iteration.

    Args:
        iteration: the record.
        nodes: at least the nodes of the iteration and its input beams, by id.
        places: place of every node in the scene, by id.
        words: the language.
        settings: as resolved; with None the reasons of the widths are unknown.
        before: how many tokens of the text earlier iterations brought.
    """

    def __init__(
        self,
        iteration: Iteration,
        nodes: dict[int, Node],
        places: dict[int, int],
        words: Words,
        settings: ResolvedSettings | None,
        before: int,
    ) -> None:
        self.iteration, self.nodes, self.places, self.before = iteration, nodes, places, before
        self.words, self.settings = words, settings
        self.branching = settings.branching if settings else None
        self.steps: list[StepScene] = []
        self.layers: list[LayerScene] = []
        self.facts: dict[int, list[Fact]] = defaultdict(list)
        self.looks: dict[int, Look] = {beam.node: ("input", beam.multiplicity, False) for beam in iteration.input_beams}
        self.roots = list(self.looks)
        self._draft()
        self.scored_step = len(self.steps)
        self._score()
        for layer in iteration.layers:
            self._layer(layer)
        self._commit()

    def _add(
        self,
        phase: str,
        layer: int,
        sentence: str,
        nodes: Iterable[int] = (),
        focus: int | None = None,
        about: tuple[int, ...] = (),
    ) -> None:
        changes = tuple(Change(self.places[node], *self.looks[node]) for node in nodes)
        place = -1 if focus is None else self.places[focus]
        self.steps.append(StepScene(phase, layer, sentence, place, changes, about))

    def _draft(self) -> None:
        roots = self.roots
        for layer in range(1, self.iteration.draft_depth + 1):
            members = [node for node in self.iteration.nodes if node.layer == layer and node.kind != "drawn"]
            if not members:
                continue
            for node in members:
                self.looks[node.id] = (node.kind, 0, False)
            cover = sum(node.kind == "cover" for node in members)
            drafts = sum(trial.layer == layer and trial.joint is None for trial in self.iteration.trials)
            is_search = self.settings is not None and self.settings.searches_blocks
            none = "step.draft_search" if is_search else "step.draft_nodes"
            key = none if not drafts else "step.draft_cover" if cover else "step.draft"
            if self.branching:
                key, drafts = "step.draft_tree", self.branching[layer - 1]
            counts = {"drafts": drafts, "nodes": len(members) - (cover if drafts else 0), "cover": cover}
            counted = {noun: self.words.counted(noun, count) for noun, count in counts.items()}
            sentence, shown = self.words(key, layer=layer, **counted), [*roots, *(node.id for node in members)]
            self._add("draft", layer, sentence, shown, about=tuple(counts.values()))
            roots = []

    def _score(self) -> None:
        forest = sum(node.kind != "drawn" for node in self.iteration.nodes)
        tested = sum(trial.joint is not None for trial in self.iteration.trials)
        key = "step.score_joint" if tested else "step.score" if forest else "step.score_none"
        about = (tested, 1) if tested else (forest,)
        sentence = self.words(key, nodes=self.words.counted("nodes", about[0]))
        self._add("score", 0, sentence, [] if self.steps else self.roots, about=about)

    def _layer(self, layer: Layer) -> None:
        draws = [draw for draw in self.iteration.draws if draw.layer == layer.layer]
        chances = chances_of(layer, self.settings, draws)
        reason, short_reason = self.words.width(layer, self.settings, chances)
        caption = " · ".join(part for part in (self.words("width.given", width=layer.width), short_reason) if part)
        self.layers.append(
            LayerScene(
                layer=layer.layer,
                title=self.words.layer_title(layer, self.before),
                width=layer.width,
                reason=reason,
                caption=caption,
                outcome_sentence=self._outcome(layer),
                at_least=chances,
                threshold=self.settings.width_threshold if self.settings and chances else None,
                step=len(self.steps),
                record=layer,
            )
        )
        ignored = self._ignored(layer)
        key = "step.width_ignored" if ignored else "step.width"
        sentence = self.words(key, layer=layer.layer, reason=reason, nodes=self.words.counted("nodes", len(ignored)))
        self._add("width", layer.layer, sentence, ignored, about=(len(ignored),))
        trials = [(at, trial) for at, trial in enumerate(self.iteration.trials) if self._is_tried_in(trial, layer)]
        for at, trial in trials:
            self._trial(at, trial, layer, sum(other.layer == trial.layer for _, other in trials))
        first = self.iteration.draws.index(draws[0]) if draws else 0
        for order, draw in enumerate(draws):
            self._draw(first + order, draw, order + 1, len(draws))
        self._add("layer", layer.layer, self._sentence("step.layer", outcome=self._outcome(layer)))

    def _outcome(self, layer: Layer) -> str:
        return self.words.outcome(layer, any(one.outcome == "landed" for one in self.iteration.layers))

    def _is_tried_in(self, trial: Trial, layer: Layer) -> bool:
        """Whether a trial belongs to a layer. What a joint test tried below the last layer belongs to the last one."""
        return min(trial.layer, len(self.iteration.layers)) == layer.layer

    def _ignored(self, layer: Layer) -> list[int]:
        """Drafts whose parent is not alive, in a forest drawn per parent: they have no trial and no residual."""
        if not self.branching:
            return []
        nodes = [node for node in self.iteration.nodes if node.layer == layer.layer and node.kind == "drafted"]
        ignored = [node.id for node in nodes if node.parent not in layer.alive]
        self.looks.update((node, ("orphaned", 0, False)) for node in ignored)
        return ignored

    def _trial(self, at: int, trial: Trial, layer: Layer, count: int) -> None:
        node = self.nodes[trial.node]
        sentence = self.words.trial(trial, width=layer.width)
        self._look(trial.node, trial.verdict, landed=False)
        title = self.words("trial.title", order=trial.order + 1, count=count)
        fact = Fact(len(self.steps), trial.verdict, title, sentence, self.words.arithmetic(trial, node))
        self._tell("trial", at, trial.layer, node, fact)

    def _draw(self, at: int, draw: Draw, order: int, count: int) -> None:
        self._look(draw.node, draw.kind, landed=draw.landed)
        title = self.words("draw.title", order=order, count=count)
        fact = Fact(len(self.steps), draw.kind, title, self.words.draw(draw), self.words.interval(draw))
        self._tell("draw", at, draw.layer, self.nodes[draw.node], fact)

    def _look(self, node: int, state: str, landed: bool) -> None:
        """A beam that was yielded once stays so, whatever happens to its duplicates; a guess that failed, too, where
        the others were not needed."""
        before, slots, was_landed = self.looks.get(node, (state, 0, False))
        stays = before in YIELDED or (before == "rejected" and state == "unneeded")
        kept = before if stays else state
        self.looks[node] = (kept, slots + (state in YIELDED), was_landed or landed)

    def _tell(self, phase: str, at: int, layer: int, node: Node, fact: Fact) -> None:
        self.facts[node.id].append(fact)
        token = f"“{piece_label(node)}”"
        told = self._sentence(f"step.{phase}", layer=layer, title=fact.title, token=token, sentence=fact.sentence)
        self._add(phase, layer, told, [node.id], focus=node.id, about=(at,))

    def _commit(self) -> None:
        layers, beams = len(self.iteration.layers), len(self.iteration.output_beams)
        layers_said = self.words.counted("tokens", layers)
        key = "step.commit" if beams else "step.commit_end"
        self._add("commit", 0, self._sentence(key, layers=layers_said, beams=self.words.counted("beams", beams)))

    def _sentence(self, key: str, **values: object) -> str:
        text = self.words(key, **values)
        return text[:1].upper() + text[1:]
