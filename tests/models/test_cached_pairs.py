"""Pairs that are cached with their target for ``generate``: made once, and again after a model has changed."""

import gc
import io
import weakref
from copy import deepcopy

import torch

import dsbd
from dsbd.models import making
from tests.toy_pair import toy_model

IDS = torch.tensor([[10, 20, 30]])


def test_a_pair_is_made_once_and_freed_with_its_target(monkeypatch):
    """Catches a check of the models at every call, and a list of pairs that keeps every target in memory."""
    calls = []
    monkeypatch.setattr(making, "make_pair", lambda *inputs, own=dsbd.make_pair: calls.append(1) or own(*inputs))
    model, draft = toy_model(1, 2).train(), toy_model(2, 1)
    for _ in range(2):
        model.generate(IDS, custom_generate=dsbd.generate, draft_model=draft, max_new_tokens=2, pad_token_id=0)
    assert len(calls) == 1
    assert not model.training
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


class Adapted(torch.nn.Module):
    """Scales what a module returns, as an adapter does."""

    def __init__(self, base):
        super().__init__()
        self.base, self.scaling, self.active = base, {"one": 1.0, "two": -3.0}, ["one"]

    def forward(self, *inputs, **named):
        return self.base(*inputs, **named) * self.scaling[self.active[0]]


STEERING = [1.0]
STEPS = {
    "stepped weights": lambda mlp: mlp.base.down_proj.weight.mul_(-1),
    "replaced weights": lambda mlp: setattr(
        mlp.base.down_proj, "weight", torch.nn.Parameter(5 * mlp.base.down_proj.weight)
    ),
    "another adapter": lambda mlp: mlp.active.__setitem__(0, "two"),
    "its scaling": lambda mlp: mlp.scaling.update(two=4.0),
    "a hook": lambda mlp: mlp.register_forward_hook(lambda module, inputs, output: output * -2.0 * STEERING[0]),
    "what the hook reads": lambda mlp: STEERING.__setitem__(0, 5.0),
    "forward": lambda mlp: setattr(mlp, "forward", lambda *inputs: 9.0 * mlp.base(*inputs)),
    "its class": lambda mlp: setattr(Adapted, "forward", lambda module, *inputs: -7.0 * module.base(*inputs)),
    "without hooks": lambda mlp: (mlp._forward_hooks.clear(), vars(mlp).pop("forward")),
}


@torch.no_grad()
def test_what_changes_a_model_is_seen(monkeypatch):
    """Catches a trace of the weights, adapters, hooks and methods of the first call."""
    monkeypatch.setattr(Adapted, "forward", Adapted.forward)
    model, texts = toy_model(1, 2).float(), []
    model.model.layers[0].mlp = Adapted(model.model.layers[0].mlp)
    options = {"do_sample": False, "max_new_tokens": 8, "pad_token_id": 0, "attention_mask": torch.ones_like(IDS)}
    for name, step in {"at first": len, **STEPS}.items():
        step(model.model.layers[0].mlp) if texts else None
        texts.append(model.generate(IDS, **options).tolist())
        ours = model.generate(IDS, custom_generate=dsbd.generate, draft_model=None, **options)
        assert ours.tolist() == texts[-1], name
    assert len({str(ids) for ids in texts}) > 5


def test_a_model_can_be_saved_and_copied_after_a_call():
    """Catches a cached pair that is saved with its target, one that a saved target loses for good, and a read of the
    version of inference tensors, which have none."""
    with torch.inference_mode():
        model = toy_model(1, 1)
    first = making.cached_pair(model, None)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (torch.load(file, weights_only=False), deepcopy(model)):
        pair = making.cached_pair(other, None)
        assert pair.target.model is other
        assert making.cached_pair(other, None) is pair
        torch.save(other, io.BytesIO())
    assert making.cached_pair(model, None) is first
