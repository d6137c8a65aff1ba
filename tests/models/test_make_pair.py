"""``make_pair`` with models that somebody else loaded, and ``load_pair`` with a device map: the plain pair's ids."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import disk_offload
from transformers import AutoModelForCausalLM, LlamaModel, TorchAoConfig

import dsbd
from dsbd.errors import PairError
from dsbd.models import check
from dsbd.models.engines import fused
from dsbd.models.rows.forest import ForestRow
from dsbd.models.weights import has_only_pickles, parameters_of, stored_bytes
from tests.toy_pair import toy_model, toy_pair, toy_tokenizer

SETTINGS = dsbd.DecodingSettings(max_new_tokens=10, draft_depth=2, draft_width=3, seed=3)
GREEDY = replace(SETTINGS, temperature=0.0, max_width=1, min_width=1)
PROMPT = "One day"
SPREAD = dict.fromkeys(("model.embed_tokens", "model.layers.0", "model.norm", "model.rotary_emb"), "cpu")
SPREAD |= dict.fromkeys(("model.layers.1", "lm_head"), "disk")


def ids(pair, settings=SETTINGS):
    return dsbd.decode(pair, PROMPT, settings).token_ids


@pytest.fixture(scope="module")
def plain(toy_folders):
    pair = dsbd.load_pair(toy_folders["target"], toy_folders["draft"], device="cpu", dtype="float32", engine="eager")
    return ids(pair)


def loaded(folder, **how):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False, **how)


def test_loaded_models_decode_as_loaded_names_do(toy_folders, plain):
    """Catches a model that stays in training mode, and an engine that is not checked."""
    target, draft = (loaded(toy_folders[role]).train() for role in ("target", "draft"))
    pair = dsbd.make_pair(target=target, draft=draft, tokenizer=toy_tokenizer())
    assert (pair.target.engine, pair.draft.engine) == ("traced", "fused")
    assert not pair.fallbacks
    assert not target.training
    assert ids(pair) == plain


def test_the_checks_of_a_model_share_their_eager_forwards(monkeypatch):
    """Catches a load that runs the same forests again for every engine that it tries."""
    runs = []
    monkeypatch.setattr(check, "ForestRow", lambda model: runs.append(model.id) or ForestRow(model))
    monkeypatch.setattr(fused, "_rotated", lambda states, cosines, sines: states)
    pair = dsbd.make_pair(toy_model(1, 1).float(), None, toy_tokenizer(), "fused")
    assert pair.target.engine == "traced"
    assert list(pair.checks) == ["target", "target fused", "target traced"]
    assert len(runs) == 1


def test_a_pair_is_shown_in_one_short_line():
    """Catches a prompt of Python that is flooded with the layers of both models."""
    how, pair = "engine eager, attention forest, on cpu", toy_pair()
    assert repr(pair) == f"Pair(target=<toy/target, {how}>, draft=<toy/draft, {how}>)"
    assert repr(replace(pair, draft=None)).endswith("draft=None)")


@pytest.mark.parametrize("role", ["target", "draft"])
def test_an_offloaded_model_decodes_alike(toy_folders, plain, tmp_path, role):
    """Catches a device read from a weight that is not there, and a trace that has none of the moves."""
    models = {each: loaded(toy_folders[each]) for each in ("target", "draft")}
    disk_offload(models[role], tmp_path, execution_device="cpu")
    pair = dsbd.make_pair(models["target"], models["draft"], toy_tokenizer())
    spread = getattr(pair, role)
    assert (spread.engine, spread.attention, str(spread.device)) == ("eager", "forest", "cpu")
    assert any("hooks move" in line and role in line for line in pair.fallbacks)
    assert ids(pair) == plain


def test_a_device_map_spreads_the_layers(toy_folders, plain, tmp_path):
    """Catches a loader that gathers the layers again, or does not pass further arguments on."""
    pair = dsbd.load_pair(
        toy_folders["target"], dtype="float32", device_map=SPREAD, load_kwargs={"offload_folder": str(tmp_path)}
    )
    with pytest.raises(PairError, match="cannot load"):
        dsbd.load_pair(toy_folders["target"], load_kwargs={"no_such_argument": 1})
    assert pair.target.is_hooked
    assert pair.target.model.lm_head.weight.device.type == "meta"
    draft = loaded(toy_folders["draft"])
    assert ids(dsbd.make_pair(pair.target.model, draft, pair.tokenizer)) == plain


def test_target_and_draft_may_differ_in_dtype(toy_folders):
    """Catches a draft that is cast, or laws in the wrong dtype: a greedy text follows the target alone."""
    target, draft = toy_model(1, 2), loaded(toy_folders["draft"])
    pair = dsbd.make_pair(target, draft, toy_tokenizer())
    assert (pair.target.dtype, pair.draft.dtype) == (torch.float64, torch.float32)
    assert ids(pair, GREEDY) == ids(pair, dsbd.DecodingSettings(method="greedy", max_new_tokens=10))


@pytest.mark.parametrize("way", ["quantised in place", "quantised while loading"])
def test_a_quantised_target_decodes(toy_folders, way):
    """Catches a mask in the dtype of packed weights, and an engine that fails on them."""
    torchao = pytest.importorskip("torchao.quantization", reason="runs wherever torchao is installed")
    if way == "quantised in place":
        target = loaded(toy_folders["target"])
        torchao.quantize_(target, torchao.Int8WeightOnlyConfig())
    else:
        how = {"quantization_config": TorchAoConfig(torchao.Int8WeightOnlyConfig())}
        target = dsbd.load_pair(toy_folders["target"], dtype="float32", device="cpu", load_kwargs=how).target.model
    kinds = {type(weight.data).__name__ for weight in target.model.layers.parameters()}
    assert any("Int8" in kind or "Affine" in kind for kind in kinds), kinds
    pair = dsbd.make_pair(target, loaded(toy_folders["draft"]), toy_tokenizer())
    assert pair.target.attention == "forest"
    assert ids(pair, GREEDY) == ids(pair, dsbd.DecodingSettings(method="greedy", max_new_tokens=10))


def test_vocabularies_that_are_padded_differently(toy_folders):
    """Catches columns that stand for no token of the pair."""
    wide = loaded(toy_folders["target"])
    wide.resize_token_embeddings(272, mean_resizing=False)
    pair = dsbd.make_pair(wide, loaded(toy_folders["draft"]), toy_tokenizer())
    assert pair.target.vocabulary_size == pair.draft.vocabulary_size == 260


MODEL, BYTES, MORE = toy_model(1, 1), toy_tokenizer(), toy_tokenizer()
MORE.add_tokens([f"<{number}>" for number in range(4)])
SMALL = toy_model(1, 1)
SMALL.resize_token_embeddings(200)


REFUSED = {
    "name": (("Qwen/Qwen3-8B", None, BYTES), r"target is a str; .* load_pair"),
    "no head": ((LlamaModel(MODEL.config), None, BYTES), "returns no logits; load it with AutoModelForCausalLM"),
    "tokenizer's name": ((MODEL, None, "tok"), r"tokenizer is the name 'tok'.*from_pretrained"),
    "no tokenizer": ((MODEL,), "there is no tokenizer"),
    "engine": ((MODEL, None, BYTES, "fast"), "engine is 'fast'; choose one of auto"),
    "ids": ((MODEL, None, MORE), r"has 260 ids, and the tokenizer has ids up to 260; give the tokenizer"),
    "fewer ids": ((MODEL, SMALL, BYTES), r"draft model .* has 200 ids, and .* up to 256; give a draft .* same family"),
    "vocabulary": (
        (MODEL, MODEL, BYTES, None, MORE), r"vocabularies differ: .* 257 entries, .* 261, 257 agree; .* same family"
    ),
    "no draft": ((MODEL, None, BYTES, None, BYTES), "draft_tokenizer is given without a draft model"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_pair_of_loaded_models_is_refused(name):
    """Catches an AttributeError deep in the decoder."""
    given, said = REFUSED[name]
    with pytest.raises(PairError, match=said):
        dsbd.make_pair(*given)


def test_headers_tell_the_size_of_the_weights(toy_folders, tmp_path):
    """Catches a count that forgets shards, and a folder of pickles taken for one that tells nothing."""
    model = toy_model(1, 2).float()
    numbers = sum(parameter.numel() for parameter in model.parameters())
    model.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    for folder in (tmp_path / "shards", toy_folders["target"]):
        assert parameters_of(Path(folder)) == numbers
        assert 4 * numbers < stored_bytes(Path(folder)) < 4.2 * numbers
    assert not has_only_pickles(tmp_path / "shards")
    (tmp_path / "pytorch_model.bin").write_bytes(b"any")
    assert parameters_of(tmp_path) is None
    assert has_only_pickles(tmp_path)
