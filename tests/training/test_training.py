"""The fast forward is the model's own, gradients are autograd's, and resuming changes nothing."""

import pytest
import torch

from training.corpus import MixedBatches
from training.draft import DraftTrainer, PoolBatches, build_pool, windows
from training.llama import Forward
from training.losses import cross_entropy_chunk, distillation_chunk
from training.trainer import Budget, Schedule, TargetTrainer, load_checkpoint, save_checkpoint, train

from .conftest import make_tiny_model, random_ids

SCHEDULE = Schedule(warmup_steps=2, short_length=32, long_length=64, batch_tokens=128)


@pytest.mark.parametrize("length", [7, 300])
def test_the_fast_forward_is_the_models_own(tiny_model, length):
    ids = random_ids(2, length)
    torch.testing.assert_close(Forward(tiny_model)(ids), tiny_model.model(ids).last_hidden_state)


def test_cross_entropy_is_the_naive_formula():
    hidden = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    head = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 7, (9,))
    weights = torch.rand(9, dtype=torch.float64)
    naive = (torch.nn.functional.cross_entropy(hidden @ head.T, targets, reduction="none") * weights).sum()
    naive.backward()
    summed, slope, head_slope = cross_entropy_chunk(hidden.detach(), head.detach(), targets, weights.float())
    close = {"rtol": 1e-5, "atol": 1e-6}  # the chunk computes its softmax in float32
    torch.testing.assert_close(summed.double(), naive.detach(), **close)
    torch.testing.assert_close(slope, hidden.grad, **close)
    torch.testing.assert_close(head_slope, head.grad, **close)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_distillation_is_the_naive_formula(share):
    hidden = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    head = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    target = torch.randn(9, 7, dtype=torch.float64).log_softmax(-1)
    draft = (hidden @ head.T).log_softmax(-1)
    weights = torch.rand(9, dtype=torch.float64)
    divergence = (torch.nn.functional.kl_div(draft, target, log_target=True, reduction="none").sum(-1) * weights).sum()
    distance = ((draft.exp() - target.exp()).abs().sum(-1) / 2 * weights).sum()
    naive = (1 - share) * divergence + share * distance
    naive.backward()
    found = distillation_chunk(target.float(), hidden.detach(), head.detach(), share, weights.float())
    close = {"rtol": 1e-4, "atol": 1e-6}
    torch.testing.assert_close(found[0].double(), naive.detach(), **close)
    torch.testing.assert_close(found[1], hidden.grad, **close)
    torch.testing.assert_close(found[2], head.grad, **close)


def target_trainer(documents, budget_steps: int) -> TargetTrainer:
    return TargetTrainer(
        make_tiny_model(layers=2, seed=0),
        MixedBatches({"stories": documents}, {"stories": 1.0}, seed=0),
        Budget(budget_steps * 128),
        SCHEDULE,
    )


def draft_trainer(documents, budget_steps: int) -> DraftTrainer:
    target = make_tiny_model(layers=2, seed=0)
    target.model.embed_tokens.weight.data.mul_(20)  # a law with something to learn
    pool = build_pool(target, windows(documents.ids[:2000], 32), 4)
    return DraftTrainer(
        make_tiny_model(layers=1, seed=1),
        PoolBatches(pool, seed=0),
        Budget(budget_steps * 128),
        Schedule(warmup_steps=2, short_length=32, long_share=0.0, batch_tokens=128),
        head=target.model.embed_tokens.weight.detach(),
    )


@pytest.mark.parametrize("make", [target_trainer, draft_trainer])
def test_a_resumed_run_is_the_uninterrupted_run(make, tiny_documents, tmp_path):
    whole = make(tiny_documents, 4)
    for _ in range(4):
        whole.advance()
    first = make(tiny_documents, 4)
    for _ in range(2):
        first.advance()
    save_checkpoint(tmp_path / "run.pt", first.state())
    second = make(tiny_documents, 4)
    second.restore(load_checkpoint(tmp_path / "run.pt"))
    assert second.step == 2
    for _ in range(2):
        second.advance()
    assert (second.step, second.tokens) == (whole.step, whole.tokens)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, second.model.state_dict()[name]), name


@pytest.mark.parametrize("make", [target_trainer, draft_trainer])
def test_training_lowers_the_loss_and_stops_at_the_budget(make, tiny_documents, tmp_path):
    trainer = make(tiny_documents, 30)
    losses = [trainer.advance()["loss"] for _ in range(29)]
    assert losses[11] < losses[0] - 0.5  # so far the draft learns by the divergence alone
    assert losses[-1] < losses[0] - 1
    assert list(train(trainer, tmp_path / "run.pt")) == []
    assert trainer.step == 30
    assert (tmp_path / "run.pt").exists()
