"""Training of a memory: it computes what the merged model does, gradients stop in time, and resuming is exact."""

from itertools import count

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from dsbd.assets import asset_path
from dsbd.contest.tasks import NEEDLE, NEEDLE_WORDS
from dsbd.memory.adapters import add_adapters
from dsbd.memory.settings import MemorySettings
from dsbd.models.language_model import LanguageModel
from dsbd.steps import value_of
from training.corpus import encode_documents
from training.memory import BACK_SEGMENTS, LENGTHS, MemoryTrainer, begin_from, new_memory_model
from training.needle import MemoryRows
from training.trainer import save_checkpoint, train

from .conftest import make_tiny_model, random_ids


def tiny():
    return make_tiny_model(layers=2, seed=0)


def memory_model(recall: bool = True, rank: int = 2):
    settings = MemorySettings(tiny().config.hidden_size, 8, sensory_tokens=3, recall=recall)
    model = new_memory_model(tiny(), settings, rank, seed=0)
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in (*model.adapters.parameters(), *model.network.parameters()):
            weight.add_(0.1 * torch.randn_like(weight))
    model.fresh()
    return model


def test_what_is_trained_is_what_decodes() -> None:
    """Catches a training forward whose memory differs from that of the model with merged adapters."""
    from dsbd.memory.reading import Memory

    model, ids = memory_model(), random_ids(1, 32)
    with torch.no_grad():
        remembered = model.read(ids.view(1, 4, 8))
        losses, _ = model.last_segment(ids.view(1, 4, 8), remembered)
    merged = tiny()
    add_adapters(merged, model.adapters.low_ranks())
    target = LanguageModel(merged.eval(), "tiny")
    found = value_of(Memory("tiny", model.network).reading(target, ids[0].tolist()))
    torch.testing.assert_close(found.embedding, remembered[0], rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        logits = target.forward(target.behind(found.embedding, torch.tensor([found.ids])))[0]
    again = torch.nn.functional.cross_entropy(logits[found.sensory : -1], ids[0, -8:], reduction="none")
    torch.testing.assert_close(losses[0], again, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("recall", [True, False])
def test_gradients_stop_at_the_truncation(recall: bool) -> None:
    """Catches a truncation that detaches a copy and changes nothing, and one that stops too early."""
    model, ids = memory_model(recall), random_ids(1, 48).view(1, 6, 8)
    read = []
    embed = model.embed

    def watched(tokens: torch.Tensor) -> torch.Tensor:
        read.append(embed(tokens).requires_grad_())
        return read[-1]

    model.embed = watched
    losses, _ = model.last_segment(ids, model.read(ids))
    losses.sum().backward()
    reached = [each.grad is not None and bool(each.grad.any()) for each in read if each.shape[1] == 8]
    segments = reached[:6]  # the calls for sensory tokens have 3
    assert segments[: 6 - BACK_SEGMENTS] == [False] * (6 - BACK_SEGMENTS)
    assert all(segments[6 - BACK_SEGMENTS : 5])


@pytest.fixture(scope="module")
def parts():
    tokenizer = AutoTokenizer.from_pretrained(asset_path("models/stories/target"), trust_remote_code=False)
    texts = ["Once there was a bear. " * 60, "A girl went out to play. " * 400]
    return {"stories": encode_documents(tokenizer, texts), "books": encode_documents(tokenizer, texts)}, tokenizer


def test_a_needle_row_asks_for_its_word(parts) -> None:
    """Catches a word that has several tokens, and a question whose answer stands in the last segment."""
    rows = MemoryRows(*parts, seed=1)
    drawn = rows.needle(4, 96, 30)
    assert len(set(rows.words)) == len(NEEDLE_WORDS) == 64
    for ids, answer in zip(drawn.ids, drawn.answers, strict=True):
        text = parts[1].decode(ids, skip_special_tokens=True)
        told = parts[1].decode(ids[:-30], skip_special_tokens=True)
        assert f"\n{NEEDLE} {NEEDLE_WORDS[answer]}.\n\n" in told
        assert text.endswith(f"\n{NEEDLE} {NEEDLE_WORDS[answer]}")
        assert len(ids) == 96
    assert rows.books(2, 500).ids.shape == (2, 500)


class FewRows(MemoryRows):
    """Rows whose ids the tiny model has."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.words = np.arange(64) % 60

    def needle(self, rows: int, tokens: int, last: int):
        return type(drawn := super().needle(rows, tokens, last))(drawn.ids % 60, drawn.answers)

    def books(self, rows: int, tokens: int):
        return type(drawn := super().books(rows, tokens))(drawn.ids % 60, None)

    def plain(self, rows: int, tokens: int):
        return type(drawn := super().plain(rows, tokens))(drawn.ids % 60, None)


def new_trainer(parts) -> MemoryTrainer:
    model = new_memory_model(tiny(), MemorySettings(32, 40), 2, seed=0)
    return MemoryTrainer(model, FewRows(*parts, 0), 6.0, most_segments=4)


def test_resuming_changes_nothing(parts, tmp_path, monkeypatch) -> None:
    """Catches rows, random numbers or moments that a checkpoint forgets, and a step that learns nothing."""
    monkeypatch.setattr("training.memory.STEP_TOKENS", 256)
    monkeypatch.setattr("training.memory.LENGTHS", (24, 40))
    monkeypatch.setattr("training.memory.PLAIN_TOKENS", 32)
    ticks = count()
    monkeypatch.setattr("training.memory.time.monotonic", lambda: float(next(ticks)))  # so that a step takes a second
    whole, half = new_trainer(parts), new_trainer(parts)
    for _ in range(6):
        whole.advance()
    for _ in range(3):
        half.advance()
    save_checkpoint(tmp_path / "memory.pt", half.state())
    resumed = new_trainer(parts)
    reports = list(train(resumed, tmp_path / "memory.pt"))
    assert reports == ["resumed at step 3"]
    assert (whole.step, resumed.step, whole.progress) == (6, 6, 1.0)
    for ours, theirs in ((whole.model.network, resumed.model.network), (whole.model.adapters, resumed.model.adapters)):
        again = theirs.state_dict()
        assert all(torch.equal(weight, again[name]) for name, weight in ours.state_dict().items())
    assert all(bool(weight.any()) for weight in whole.model.adapters.up.values())


def test_the_second_stage_begins_with_what_the_first_learned() -> None:
    """Catches a second stage from scratch, and a recall that begins by looking at one memory only."""
    first = memory_model(recall=False)
    saved = {"network": first.network.state_dict(), "adapters": first.adapters.state_dict()}
    second = new_memory_model(tiny(), MemorySettings(first.network.settings.hidden_size, LENGTHS[0]), 2, 1)
    begin_from(second, saved)
    assert torch.equal(second.network.first, first.network.first)
    assert torch.equal(second.network.summary, first.network.first)
    assert not second.network.query.any()
