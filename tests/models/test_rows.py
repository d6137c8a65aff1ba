"""One cache row for all beams against every path alone, over several iterations of random forests."""

import random

import pytest
import torch

from dsbd.beams import Node
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.check import check_forest
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows import ForestRow, PathRows, Row
from tests.models.tiny import FORESTS, VOCABULARY, WINDOW, tiny_model

CLOSE = 1e-5
"""Largest difference of a logit. Rounding in float64 models stays below 1e-6, for norms and eager attention
compute in float32 inside; a token too many or too few in a mask moves logits by more than 1e-2."""


class Driver:
    """Feeds the same random forests to both kinds of row, and counts the slots that should be in use."""

    def __init__(self, model: LanguageModel, seed: int, prompt_size: int) -> None:
        self.source = random.Random(seed)
        self.rows: list[Row] = [ForestRow(model), PathRows(model)]
        self.root = Node(None, -1, 0)
        self.prompt = [self.source.randrange(VOCABULARY) for _ in range(prompt_size)]
        self.beams = [self.root]
        self.fed: set[Node] = set()  # nodes in the row beside the prompt's
        self.extra = 0  # slots that are no node
        self.worst = 0.0
        with torch.inference_mode():
            for row in self.rows:
                row.prefill(self.prompt, self.root)

    @property
    def slots(self) -> int:
        return len(self.prompt) - 1 + len(self.fed) + self.extra

    @torch.inference_mode()
    def iterate(self, depth: int, width: int, keep: int, layerwise: bool, gap: int, deepest: bool = False) -> None:
        """One iteration; ``layerwise`` feeds as drafting does, and new beams stand ``gap`` tokens below the forest."""
        for row in self.rows:
            row.open(self.beams, depth * width)
        self.fed |= {node for beam in self.beams for node in _path(beam)}
        tokens, parents, nodes = self._forest(depth, width)
        feeds = [(0, 0)] + [(n * width, (n + 1) * width) for n in range(depth)] if layerwise else [(0, depth * width)]
        for start, end in feeds:
            self._compare(tokens[start:end], parents[start:end], [width] * ((end - start) // width))
            self.extra += end - start
            assert self.rows[0].slots == self.slots
        for row in self.rows:
            row.register(nodes)
        known = {node for node in nodes if node is not None}
        self.fed |= known
        self.extra -= len(known)
        assert self.rows[0].slots == self.slots
        self._commit(known, keep, gap, deepest)

    def _forest(self, depth: int, width: int):
        """Random drafts, layer by layer; now and then a slot is no node, and nothing stands on it."""
        above = [(beam, place) for place, beam in enumerate(self.beams)]
        tokens, parents, nodes = [], [], []
        content: set[tuple[Node, int]] = set()
        for _ in range(depth):
            layer = []
            for _ in range(width):
                parent, station = self.source.choice(above)
                token = self.source.randrange(VOCABULARY)
                tokens.append(token)
                parents.append(station)
                inert = (parent, token) in content or (self.source.random() < 0.2 and layer)
                content.add((parent, token))
                nodes.append(None if inert else parent.child(token))
                if nodes[-1] is not None:
                    layer.append((nodes[-1], len(self.beams) + len(tokens) - 1))
            above = layer or above
            if not layer:
                break
        while len(tokens) < depth * width:  # a layer without nodes: the rest is inert
            tokens.append(0)
            parents.append(0)
            nodes.append(None)
        return torch.tensor(tokens), torch.tensor(parents), nodes

    def _compare(self, tokens, parents, sizes) -> None:
        forest, paths = (row.feed(tokens, parents, sizes) for row in self.rows)
        assert forest.shape == paths.shape
        self.worst = max(self.worst, float((forest - paths).abs().max()))

    def _commit(self, forest: set[Node], keep: int, gap: int, deepest: bool) -> None:
        lengths = [node.length for node in forest | set(self.beams)]
        level = max(lengths) if deepest else self.source.choice(lengths)
        stand = [node for node in forest | set(self.beams) if node.length == level]
        stand.sort(key=lambda node: node.token_ids())
        made: dict[tuple[int, ...], Node] = {tuple(node.token_ids()): node for node in forest}
        beams: dict[tuple[int, ...], Node] = {}
        while len(beams) < min(keep, VOCABULARY):
            node = self.source.choice(stand)
            for _ in range(1 + gap):
                ids = (*node.token_ids(), self.source.randrange(VOCABULARY))
                node = made.setdefault(ids, node.child(ids[-1]))
            beams.setdefault(tuple(node.token_ids()), node)
        self.beams = list(beams.values())
        kept = self.rows[0].commit(self.beams)
        self.rows[1].commit(self.beams)
        alive = {node for beam in self.beams for node in _path(beam) if node is not beam}
        self.fed &= alive
        self.extra = 0
        assert self.rows[0].slots == self.slots
        assert set(kept) <= self.fed
        assert len(set(kept)) == len(kept)


def _path(node: Node) -> list[Node]:
    path = [node]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    return path


@pytest.fixture(scope="module")
def models() -> dict[str, LanguageModel]:
    return {}


def _model(models: dict[str, LanguageModel], family: str) -> LanguageModel:
    if family not in models:
        models[family] = tiny_model(family)
    return models[family]


@pytest.mark.parametrize("family", FORESTS)
@pytest.mark.parametrize("seed", range(3))
def test_forest_row_sees_what_each_path_sees(family: str, seed: int, models: dict[str, LanguageModel]) -> None:
    """Catches masks, positions, windows, settled slots or moves that differ from every path computed alone."""
    source = random.Random(seed)
    driver = Driver(_model(models, family), seed, source.choice([1, 2, WINDOW, WINDOW + 9]))
    for _ in range(7):
        driver.iterate(
            depth=source.randint(1, 4),
            width=source.randint(1, 5),
            keep=source.randint(1, 4),
            layerwise=source.random() < 0.5,
            gap=source.choice([0, 0, 1, 2]),
        )
    assert driver.worst < CLOSE


@pytest.mark.parametrize("seed", range(12))
def test_many_random_decodes(seed: int, models: dict[str, LanguageModel]) -> None:
    """Catches what rare shapes of the trie break: settling with gaps, beams that part at the root, one beam."""
    source = random.Random(100 + seed)
    driver = Driver(_model(models, source.choice(["llama", "mistral windows", "gpt2"])), seed, source.randint(1, 12))
    for _ in range(9):
        driver.iterate(source.randint(1, 3), source.randint(1, 4), source.randint(1, 5), seed % 2 == 0, seed % 3)
    assert driver.worst < CLOSE


def test_long_decode_grows_the_buffer(models: dict[str, LanguageModel]) -> None:
    """Catches a buffer that loses keys when it grows, and a settled part that stops growing."""
    driver = Driver(_model(models, "mistral windows"), 5, 2)
    for _ in range(24):
        driver.iterate(depth=6, width=3, keep=2, layerwise=False, gap=0, deepest=True)
    row = driver.rows[0]
    assert driver.worst < CLOSE
    assert row.slots > 1 + GROWTH_SLOTS  # what the first growth made
    assert row.cache.layers[0].keys.shape[2] >= row.slots
    assert row.peak_slots >= row.slots
    assert row.cache.slot_bytes == 2 * 2 * 2 * 4 * 8  # layers, keys and values, heads, size, bytes
    assert row.peak_bytes == row.cache.peak_bytes > row.peak_slots * row.cache.slot_bytes
    assert len(driver.beams[0].token_ids()) - row._settled_nodes < 20


def test_wrong_mask_is_seen(models: dict[str, LanguageModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a comparison too lax to notice one token too many, a forgotten window or a shifted position."""
    shipped = ForestRow._masks

    def everything(self, sight, positions):
        return shipped(self, torch.zeros_like(sight), positions)

    def no_window(self, full, positions, window):
        return full

    for family, name, mutant in (
        ("llama", "_masks", everything),
        ("mistral windows", "_windowed", no_window),
        ("gemma3 windows", "_windowed", no_window),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(ForestRow, name, mutant)
            driver = Driver(_model(models, family), 0, WINDOW + 9)
            for _ in range(3):
                driver.iterate(depth=3, width=3, keep=3, layerwise=False, gap=0)
            assert driver.worst > 100 * CLOSE


@pytest.mark.parametrize("family", FORESTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_check_passes_families_that_work(family: str, dtype: torch.dtype) -> None:
    """Catches a tolerance so tight that a right model is decoded through paths, many times slower."""
    outcome = check_forest(tiny_model(family, seed=1, dtype=dtype))
    assert outcome.passed, outcome


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_check_fails_alibi(dtype: torch.dtype) -> None:
    """Catches a check that lets a model with position biases of its own pass."""
    outcome = check_forest(tiny_model("bloom", dtype=dtype))
    assert not outcome.passed
    assert outcome.reason


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", ["llama", "mistral windows", "gpt2", "gemma3 windows"])
def test_check_fails_wrong_masks(family: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a tolerance so lax that a wrong mask passes at load."""
    shipped = ForestRow._masks
    monkeypatch.setattr(ForestRow, "_masks", lambda self, seen, at: shipped(self, torch.zeros_like(seen), at))
    assert not check_forest(tiny_model(family, dtype=dtype)).passed
