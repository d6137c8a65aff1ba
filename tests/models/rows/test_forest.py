"""One cache row for all beams gives the logits of every path alone, over several iterations of random forests."""

import random
from functools import cache

import pytest
import torch

from dsbd.law.beams import Node
from dsbd.models.attention import pack_groups
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.check import check_forest
from dsbd.models.rows import forest
from dsbd.models.rows.forest import ForestRow
from tests.models.driver import CLOSE, Driver, wandered
from tests.models.tiny import FORESTS, VOCABULARY, WINDOW, tiny_model

_model = cache(tiny_model)


@pytest.mark.parametrize("family", FORESTS)
@pytest.mark.parametrize("seed", range(2))
def test_forest_row_sees_what_each_path_sees(family: str, seed: int) -> None:
    """Catches masks, positions, windows, settled slots or moves that differ from every path computed alone."""
    assert wandered(_model(family), seed).worst < CLOSE


@pytest.mark.parametrize("seed", range(8))
def test_many_random_decodes(seed: int) -> None:
    """Catches errors in rare shapes of the trie: settling with gaps, beams that part at the root, one beam."""
    source = random.Random(100 + seed)
    driver = Driver(_model(source.choice(["llama", "mistral windows", "gpt2"])), seed, source.randint(1, 12))
    for _ in range(9):
        driver.iterate(source.randint(1, 3), source.randint(1, 4), source.randint(1, 5), seed % 2 == 0, seed % 3)
    assert driver.worst < CLOSE


def test_long_decode_grows_the_buffer() -> None:
    """Catches a buffer that loses keys when it grows, and a settled part that stops growing."""
    driver = Driver(_model("mistral windows"), 5, 2)
    for _ in range(24):
        driver.iterate(depth=6, width=3, keep=2, layerwise=False, gap=0, deepest=True)
    row = driver.rows[0]
    assert driver.worst < CLOSE
    assert row.slots > 1 + GROWTH_SLOTS  # the room after the first growth
    assert row.cache.layers[0].keys.shape[2] >= row.slots
    assert row.peak_slots >= row.slots
    assert row.cache.slot_bytes == 2 * 2 * 2 * 16 * 8  # layers, keys and values, heads, size, bytes
    assert row.peak_bytes == row.cache.peak_bytes > row.peak_slots * row.cache.slot_bytes
    assert len(driver.beams[0].token_ids()) - row._settled_nodes < 20


def test_wrong_mask_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
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
            driver = Driver(_model(family), 0, WINDOW + 9)
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
@pytest.mark.parametrize("family", ["llama", "mistral windows", "gpt2", "gemma3 windows"])
def test_check_fails_wrong_masks(family: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a tolerance so lax that a wrong mask passes at load."""
    shipped = ForestRow._masks
    monkeypatch.setattr(ForestRow, "_masks", lambda self, seen, at: shipped(self, torch.zeros_like(seen), at))
    assert not check_forest(tiny_model(family, dtype=dtype)).passed


@pytest.mark.parametrize("packed", [False, True], ids=["stock", "packed"])
@pytest.mark.parametrize("family", FORESTS)
def test_a_prompt_in_parts_is_the_prompt_in_one(family: str, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches positions, windows or masks of a later part that are not those of the whole prompt; packed attention,
    which every loaded model with groups uses, gets a mask in the later parts only."""
    model, source = tiny_model(family), random.Random(7)
    if packed:
        pack_groups(model.model)
    prompt = [source.randrange(VOCABULARY) for _ in range(2 * WINDOW + 4)]
    found = []
    for size in (len(prompt), WINDOW - 1, 1):
        monkeypatch.setattr(forest, "PREFILL_TOKENS", size)
        row, root = ForestRow(model), Node(None, -1, 0)
        row.prefill(prompt, root)
        row.open([root], 0)
        none = torch.empty(0, dtype=torch.int64)
        with torch.inference_mode():
            found.append((row.feed(none, none, ()), row.slots, row.forwards))
    for logits, slots, forwards in found[1:]:
        assert float((logits - found[0][0]).abs().max()) < CLOSE
        assert (slots, forwards) == found[0][1:]
