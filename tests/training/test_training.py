"""Training: resuming is exact, losses are the formulas, a memory's gradients stop in time, all three commands run."""

import gzip
import json

import numpy as np
import pytest
import torch

import dsbd
from dsbd.memory.files import add_adapters
from dsbd.memory.reading import MemorySettings
from dsbd.util import asset_path
from training import memory
from training.__main__ import main
from training.corpus import Rows, encode_documents, is_held_out, read_documents, split_documents
from training.memory import BACK_SEGMENTS, MemoryModel, MemoryRows, memory_trainer
from training.models import load_model, new_draft, new_target, train_tokenizer
from training.trainer import Trainer, distillation_loss, next_token_loss, optimizers_of, train

pytestmark = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="training needs torch 2.9 or later")
STORIES = [
    f"One day, {name} found a {thing}. {name} had {count} friends.\nThey played until night."
    for name in ("Lily", "Tom", "Anna", "Ben", "Mia", "Sam") for thing in ("ball", "dog", "boat", "tree", "cake")
    for count in range(2, 14)
]  # fmt: skip


@pytest.fixture(scope="module")
def documents():
    tokenizer = train_tokenizer([*STORIES, "The secret animal is a dog.\n\n" * 50], 320)
    return encode_documents(tokenizer, [*STORIES, " ".join(STORIES[:40])]), tokenizer


def tiny_target(seed=0):
    """Make a target of 320 entries whose layers have an effect from the start."""
    model = new_target(320, 2, 32, seed).requires_grad_(False)
    for name, weight in model.named_parameters():
        if "o_proj" in name or "down_proj" in name:
            weight.normal_(0, 0.2, generator=torch.Generator().manual_seed(seed))
    return model.requires_grad_(True)


def tiny_memory(recall=True):
    model = MemoryModel(tiny_target().eval(), MemorySettings(32, 8, sensory_tokens=3, recall=recall), 2, seed=0)
    noise = torch.Generator().manual_seed(3)
    for weight in model.parameters():
        weight.data += 0.1 * torch.randn(weight.shape, generator=noise)
    return model


def a_trainer(documents, kind):
    if kind == "memory":
        model = MemoryModel(tiny_target().eval(), MemorySettings(32, 40), 2, seed=0)
        return memory_trainer(model, MemoryRows(*documents, 0), 6, most_segments=4), model
    rows, target = Rows(documents[0], seed=1), tiny_target()
    model = target if kind == "target" else new_draft(tiny_target(1).requires_grad_(False), 1, 0).requires_grad_(True)

    def loss(progress):
        ids = torch.from_numpy(rows.take(4, 32))
        if kind == "target":
            return next_token_loss(model(ids).logits, ids).mean(), {}
        return distillation_loss(target(ids).logits.detach(), model(ids).logits, progress), {}

    return Trainer(loss, optimizers_of(model), {"model": model, "rows": rows}, 6), model


@pytest.mark.parametrize("kind", ["target", "draft", "memory"])
def test_a_resumed_run_is_the_uninterrupted_run(kind, documents, tmp_path, monkeypatch):
    """Catches rows, random numbers or moments that a checkpoint forgets, and a step that learns nothing."""
    for name, value in (("STEP_TOKENS", 256), ("LENGTHS", (30, 40)), ("PLAIN_TOKENS", 32)):
        monkeypatch.setattr(memory, name, value)
    (whole, ours), (half, _), (resumed, theirs) = (a_trainer(documents, kind) for _ in range(3))
    initial = [weight.clone() for weight in ours.state_dict().values()]
    list(train(whole, tmp_path / "whole.pt"))
    for _ in range(3):
        half.advance()
    half.save(tmp_path / "run.pt")
    assert next(iter(train(resumed, tmp_path / "run.pt"))) == "resumed at step 3"
    list(train(resumed, tmp_path / "run.pt"))
    assert (whole.step, resumed.step) == (6, 6)
    assert all(map(torch.equal, ours.state_dict().values(), theirs.state_dict().values()))
    assert not all(map(torch.equal, ours.state_dict().values(), initial))


def test_the_split_and_the_rows_are_decided_by_the_text(documents, tmp_path):
    """Catches a split that depends on order or spacing, a lost document, and one without a beginning."""
    training, held_out = split_documents(STORIES)
    assert set(split_documents(STORIES[::-1])[1]) == set(held_out) == set(STORIES) - set(training)
    assert all(is_held_out(text) == is_held_out(f"  {text} \n".replace(" ", "\n\n")) for text in STORIES)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n<|endoftext|>\n".join(STORIES).encode()))
    assert read_documents([tmp_path / "a.txt.gz"] * 2) == STORIES
    whole = np.concatenate(documents[0])
    assert sorted(Rows(documents[0], 3).take(1, len(whole))[0]) == sorted(whole)
    assert all(document[0] == 0 for document in documents[0])


def test_the_loss_of_a_draft_is_the_formula():
    target, draft = torch.randn(2, 3, 9, 7).double().unbind()
    p, q = target.softmax(-1), draft.softmax(-1)
    expected = 0.7 * (p * (p / q).log()).sum(-1) + 0.3 * (p - q).abs().sum(-1) / 2
    torch.testing.assert_close(distillation_loss(target, draft, 0.3).double(), expected.mean(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("recall", [True, False])
def test_gradients_stop_at_the_truncation(recall):
    """Catches a truncation that detaches a copy and changes nothing, and one that stops too early."""
    model, ids, inputs = tiny_memory(recall), torch.arange(48).view(1, 6, 8), []
    embed = model.embed
    model.embed = lambda tokens: inputs.append(embed(tokens).requires_grad_()) or inputs[-1]
    model.last_segment(ids, model.read(ids))[0].sum().backward()
    reached = [one.grad is not None and bool(one.grad.any()) for one in inputs if one.shape[1] == 8]
    assert reached[: 6 - BACK_SEGMENTS] == [False] * (6 - BACK_SEGMENTS)  # the calls for sensory tokens have 3
    assert all(reached[6 - BACK_SEGMENTS : 5])


def test_narrow_matrices_are_what_is_added_to_the_weights():
    """Catches a training whose forward differs from that of the model with a loaded memory."""
    model, merged, ids = tiny_memory(), tiny_target(), torch.arange(12)[None]
    add_adapters(merged, model.low_ranks())
    torch.testing.assert_close(model.logits(model.states(model.embed(ids))), merged(ids).logits)


@pytest.mark.slow
def test_the_three_commands_make_a_pair_with_a_memory_that_decodes(tmp_path, capsys):
    """Catches folders that do not load, members that do not match, and a draft that learns nothing."""
    texts = [{"text": "The secret animal is a cat. The secret animal is a dog. " * 20 + text} for text in STORIES]
    (tmp_path / "text.jsonl").write_text("\n".join(map(json.dumps, texts)))
    same = f"--text {tmp_path}/text.jsonl --work {tmp_path}/work"
    learn, target = "--rows 2 --length 64 --steps 60", f"--target {tmp_path}/target"
    main(f"target {same} --output {tmp_path}/target --vocabulary 400 --layers 2 --hidden 32 {learn}".split())
    main(f"draft {same} --output {tmp_path}/draft {target} {learn}".split())
    main(f"memory {same} --output {tmp_path}/memory {target} --steps 2".split())
    assert float(capsys.readouterr().out.partition("overlap with the target on held-out text ")[2].split()[0]) > 0.6
    pair = dsbd.load_pair(f"{tmp_path}/target", f"{tmp_path}/draft", memory=f"{tmp_path}/memory")
    assert dsbd.decode(pair, "The secret " * 300, dsbd.DecodingSettings(max_new_tokens=3)).token_ids
    with pytest.raises(SystemExit):
        main(f"draft {same} --output {tmp_path}/draft {target} --layers 2".split())
    assert "give fewer than the target's 2" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["stories/target", "stories/draft", "sql/target", "sql/draft"])
def test_bundled_weights_are_those_of_the_card(folder):
    """Catches weights that do not load, a card of other weights, and a tokenizer that loses text."""
    model, tokenizer = load_model(str(asset_path(f"models/{folder}")))
    card = asset_path(f"models/{folder.split('/')[0]}/README.md").read_text(encoding="utf-8")
    assert f"{model.num_parameters():,}" in card
    for text in ("", "  two  spaces , a comma ' s \t\r\n\n end ", "é e\u0301 ﬁ Å\x00", "🐉 𝒯 漢字 עברית"):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
