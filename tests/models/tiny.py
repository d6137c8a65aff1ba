"""Tiny models of several families with random weights, and a driver that compares a state with each path alone."""

import random
from typing import Any

import torch

from benchmarks import families
from benchmarks.families import VOCABULARY, WINDOW
from dsbd.models.engines.choice import new_state, reference_state
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.models.states.state import DecodingState
from dsbd.verification.beams import Node

_ALTERNATING = {"layer_types": ["sliding_attention", "full_attention"], "head_dim": 8}
FORESTS: dict[str, dict[str, Any]] = {
    **{name: {"head_dim": 16} for name in ("llama", "qwen2", "mistral windows", "qwen3")},
    "qwen2 windows": {"head_dim": 16, "use_sliding_window": True, "max_window_layers": 1},
    "phi3": {"head_dim": 16, "sliding_window": None},
    **dict.fromkeys(("gemma2 windows", "gemma3_text windows"), _ALTERNATING),
    **{name: {} for name in ("gpt2", "gpt_neox", "opt", "phi")},
}
"""Families whose paths one KV cache holds, with fields of their configurations."""


def tiny_model(family: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> LanguageModel:
    """Make a language model with weights large enough that its next-token distributions differ."""
    model = families.tiny_model(family.removesuffix(" windows"), seed, **FORESTS[family])
    if family == "gemma2 windows":
        model.set_attn_implementation("eager")
    return LanguageModel(model.to(dtype), family)


CLOSE = 1e-5
"""Largest difference of a logit. Rounding in float64 models stays below 1e-6, because norms and eager attention
compute in float32 inside; one token too many or too few in a mask changes logits by more than 1e-2."""


class Driver:
    """Gives the same random forests to the model's own state and to paths, and counts the slots that should be in use.

    With an odd seed an embedding that is no token's stands in front of the prompt.
    """

    def __init__(self, model: LanguageModel, seed: int, prompt_size: int) -> None:
        self.source = random.Random(seed)
        self.states: list[DecodingState] = [new_state(model), reference_state(model)]
        root = Node(None, -1, 0)
        self.prompt = [self.source.randrange(VOCABULARY) for _ in range(prompt_size)]
        self.beams = [root]
        self.fed: set[Node] = set()  # nodes in the cache, without those of the prompt
        self.worst = 0.0
        with torch.inference_mode():
            prefix = model.embed([3, 5]).mean(dim=1)[0] if seed % 2 else None
        self.prefixes = seed % 2
        for state in self.states:
            state.prefill(self.prompt, root, prefix)

    @torch.inference_mode()
    def iterate(self, depth: int, width: int, keep: int, layerwise: bool, gap: int, deepest: bool = False) -> None:
        """Run one iteration, ``layerwise`` as drafting does; beams end ``gap`` tokens below the forest."""
        for state in self.states:
            state.begin(self.beams, depth * width)
        self.fed |= {node for beam in self.beams for node in _path(beam)}
        tokens, parents, nodes = self._forest(depth, width)
        feeds = [(0, 0)] + [(n * width, (n + 1) * width) for n in range(depth)] if layerwise else [(0, depth * width)]
        for start, end in feeds:
            inputs = tokens[start:end], parents[start:end], [width] * ((end - start) // width)
            forest, paths = (state.forward(*inputs) for state in self.states)
            assert forest.shape == paths.shape
            self.worst = max(self.worst, float((forest - paths).abs().max()))
            self._count_slots(end)
        for state in self.states:
            state.assign(nodes)
        known = {node for node in nodes if node is not None}
        self.fed |= known
        self._count_slots(len(nodes) - len(known))
        self._commit(known, keep, gap, deepest)

    def _count_slots(self, extra: int) -> None:
        """Check the slots in use, ``extra`` of them no node; states with a cache for each path count none."""
        expected = self.prefixes + len(self.prompt) - 1 + len(self.fed) + extra
        assert self.states[0].slots == (expected if isinstance(self.states[0], ForestState) else 0)

    def _forest(self, depth: int, width: int):
        """Make random drafts, layer by layer; some slots are no node, and have no children."""
        above = [(beam, index) for index, beam in enumerate(self.beams)]
        tokens, parents, nodes = [], [], []
        for _ in range(depth):
            layer = []
            for _ in range(width):
                parent, index = self.source.choice(above)
                used = {node.token for node, _ in layer if node.parent is parent}
                token = self.source.choice([token for token in range(VOCABULARY) if token not in used])
                tokens.append(token)
                parents.append(index)
                nodes.append(None if layer and self.source.random() < 0.2 else parent.child(token))
                if nodes[-1] is not None:
                    layer.append((nodes[-1], len(self.beams) + len(tokens) - 1))
            above = layer
        return torch.tensor(tokens), torch.tensor(parents), nodes

    def _commit(self, forest: set[Node], keep: int, gap: int, deepest: bool) -> None:
        lengths = [node.length for node in forest | set(self.beams)]
        level = max(lengths) if deepest else self.source.choice(lengths)
        ends = [node for node in forest | set(self.beams) if node.length == level]
        ends.sort(key=lambda node: node.token_ids())
        nodes = {tuple(node.token_ids()): node for node in forest}
        beams: dict[tuple[int, ...], Node] = {}
        while len(beams) < min(keep, VOCABULARY):
            node = self.source.choice(ends)
            for _ in range(1 + gap):
                ids = (*node.token_ids(), self.source.randrange(VOCABULARY))
                node = nodes.setdefault(ids, node.child(ids[-1]))
            beams.setdefault(tuple(node.token_ids()), node)
        self.beams = list(beams.values())
        kept = self.states[0].commit(self.beams)
        self.states[1].commit(self.beams)
        self.fed &= {node for beam in self.beams for node in _path(beam) if node is not beam}
        self._count_slots(0)
        assert set(kept) <= self.fed
        assert len(set(kept)) == len(kept)


def wandered(model: LanguageModel, seed: int) -> Driver:
    """Return a driver after seven iterations of random sizes."""
    source = random.Random(seed)
    driver = Driver(model, seed, source.choice([1, 2, WINDOW, WINDOW + 9]))
    for _ in range(7):
        depth, width, keep = (source.randint(1, most) for most in (4, 5, 4))
        driver.iterate(depth, width, keep, layerwise=source.random() < 0.5, gap=source.choice([0, 0, 1, 2]))
    return driver


def _path(node: Node) -> list[Node]:
    return [node] if node.parent is None else [node, *_path(node.parent)]
