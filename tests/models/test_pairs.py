"""Pairs: what is refused, in one sentence; pairs that decode as the plain one; distributions that processors change."""

from dataclasses import replace
from functools import partial
from itertools import product
from unittest.mock import Mock

import pytest
import torch
from accelerate import disk_offload
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, LlamaModel, PreTrainedTokenizerFast, TorchAoConfig

import dsbd
from benchmarks import families
from dsbd.errors import PairError
from dsbd.models.check import check_forest
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import load_pair, resolve_device
from dsbd.models.making import KEPT, make_pair
from dsbd.models.pair import TokenBytes
from tests.toy_pair import EOS, Digits, llama_2_tokenizer, read_settings, toy_model, toy_pair, toy_tokenizer

CPU = torch.device("cpu")
one_nan = partial(torch.Tensor.index_fill, dim=-1, index=torch.tensor(5), value=torch.nan)
SETTINGS = dsbd.DecodingSettings(max_new_tokens=10, draft_depth=2, draft_width=3, seed=3)
GREEDY = replace(SETTINGS, temperature=0.0, max_width=1, min_width=1)
NO_NAME = "is neither a folder that exists nor a hub id like owner/name"
SPREAD = dict.fromkeys(("model.embed_tokens", "model.layers.0", "model.norm", "model.rotary_emb"), "cpu")
SPREAD |= dict.fromkeys(("model.layers.1", "lm_head"), "disk")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": ""}, "target is ''; give a folder"),
        ({"target": "bundled:sql", "draft": 3}, "draft is 3; .*make_pair"),
        ({"target": "bundled:poems"}, "no bundled pair 'bundled:poems'; choose one of bundled:stories, bundled:sql"),
        ({"target": "bundled:stories", "draft": "own"}, "brings its own draft model; leave draft 'own' out"),
        ({"target": "bundled:memory", "memory": "own"}, "brings its own memory; leave memory 'own' out"),
        ({"draft": "own"}, "draft 'own' is given without a target"),
        ({"target": "own", "draft": "lokup"}, "draft is 'lokup'; did you mean 'lookup'"),
        ({"draft": "Lookup"}, "draft is 'Lookup'; did you mean 'lookup'"),
        ({"target": "own", "draft": "ngram"}, "draft is 'ngram'; did you mean 'lookup'"),
        ({"target": "SQL"}, "target is 'SQL'; did you mean 'bundled:sql'"),
        ({"device": "cuda:99"}, "device 'cuda:99' .*use auto, cpu or cuda"),
        ({"device": "meta"}, "device 'meta' .*use auto, cpu or cuda"),
        ({"dtype": "float8"}, "dtype is 'float8'; choose .*bfloat16, or weights='int8'"),
        ({"device_map": "cuda:one"}, "device_map is 'cuda:one'; choose one of auto, balanced, .* such as cuda:0"),
        ({"engine": "warp"}, "engine is 'warp'"),
        ({"engine": "graph", "device": "cpu"}, "device is a CPU; use traced, onnx"),
        ({"weights": "int4"}, "weights is 'int4'; choose one of auto, float, int8"),
        ({"weights": "int8", "device": "cpu", "engine": "eager"}, "engine is eager, and int8 weights need onnx"),
        ({"weights": "int8", "device": "cpu", "dtype": torch.float64}, "dtype is torch.float64, and int8 .* float32"),
        ({"device": "cpu", "device_map": "auto"}, "device 'cpu' and device_map 'auto' both"),
        ({"load_kwargs": {"trust_" + "remote_code": True}}, "remote_code.*never run"),
        *(({"target": name}, NO_NAME) for name in ("x" * 5000, "a\0b", "\ud800", "../x", "a--b", "/no/such", "a/b/c")),
        ({"load_kwargs": {"tp_plan": "auto"}}, "load_kwargs has 'tp_plan', which is not allowed"),
    ],
    ids=ascii,
)
def test_what_cannot_be_loaded_is_refused_before_anything_is_read(arguments, message, monkeypatch):
    """Catches a name that is looked up on the hub, a draft that is silently replaced, a default in place of a typing
    error, a device that holds no numbers, and code of a model that is run by an argument."""
    monkeypatch.setattr("dsbd.models.files.source_of", lambda name: pytest.fail("it was read"))
    with pytest.raises(PairError, match=message) as caught:
        load_pair(**arguments)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


MODEL, BYTES, MORE, FEW = toy_model(1, 1), toy_tokenizer(), toy_tokenizer(), toy_model(1, 1)
MORE.add_tokens([f"<{number}>" for number in range(4)])
FEW.resize_token_embeddings(200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Qwen/Qwen3-8B", None, BYTES), r"target is a str; .* load_pair"),
        ((LlamaModel(MODEL.config), None, BYTES), "returns no logits; load it with AutoModelForCausalLM"),
        ((MODEL, None, "tok"), r"tokenizer is the name 'tok'.*from_pretrained"),
        ((MODEL, "lokup", BYTES), "draft is a str; .* or 'lookup' or a dsbd.DraftSource as the draft"),
        ((MODEL,), "there is no tokenizer"),
        ((MODEL, None, BYTES, "fast"), "engine is 'fast'; choose one of auto"),
        ((MODEL, None, MORE), r"has 260 ids, and the tokenizer has ids up to 260; give the tokenizer"),
        ((MODEL, FEW, BYTES), r"draft model .* has 200 ids, and .* up to 256; give a draft .* same family"),
        ((MODEL, MODEL, BYTES, None, MORE), r"vocabularies differ: .* 257 entries, .* 261, 257 agree; .* same family"),
        ((MODEL, None, BYTES, None, BYTES), "draft_tokenizer is given without a draft model"),
    ],
)
def test_what_is_no_pair_of_loaded_models_is_refused(arguments, message):
    """Catches an AttributeError deep in the decoder."""
    with pytest.raises(PairError, match=message):
        make_pair(*arguments)


def test_a_bundled_pair_has_a_short_name(monkeypatch, tmp_path):
    """Catches a name of the command line that Python does not know, and a folder of that name that is passed over."""
    monkeypatch.chdir(tmp_path)
    assert load_pair("sql", "lookup", device="cpu").target.id == "bundled:sql/target"
    with pytest.raises(PairError, match="brings its own memory"):
        load_pair("memory", memory="own")
    (tmp_path / "sql").mkdir()
    with pytest.raises(PairError, match=r"'sql' .*config.json"):
        load_pair("sql", device="cpu")


@pytest.mark.parametrize(
    ("installed", "free", "dtype"),
    [(True, 10.0, torch.float32), (True, 7.0, torch.bfloat16), (False, 10.0, torch.bfloat16)],
)
def test_a_model_is_in_float32_where_onnx_runtime_runs_it(monkeypatch, installed, free, dtype):
    """Catches a model in float32 that torch then runs, which is slower than bfloat16 on such a processor.
    ``free``: bytes for each number of the model."""
    count = sum(one.numel() for one in load_pair("bundled:stories", device="cpu").target.model.parameters())
    monkeypatch.setattr("dsbd.models.loading.free_bytes", lambda device: free * count)
    monkeypatch.setattr("dsbd.models.loading.computes_bfloat16", lambda: True)
    if not installed:
        monkeypatch.setattr("dsbd.models.engines.onnx.find_spec", lambda name: None)
    assert load_pair("bundled:stories", device="cpu").target.dtype == dtype


def test_weights_too_large_for_memory(toy_folders, monkeypatch):
    """Catches an error of torch that escapes where a model does not fit the device, a wrong remedy, and a process that
    the system kills."""
    to = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 80 GiB."))
    monkeypatch.setattr(torch.nn.Module, "to", to)
    with pytest.raises(PairError, match=r"cannot load .*OutOfMemoryError.*; memory ran out: choose a smaller model"):
        load_pair(toy_folders["target"])
    monkeypatch.setattr("dsbd.models.loading.free_bytes", lambda device: 1000)
    with pytest.raises(PairError, match=r"needs 0\.\d+ GB of memory .* float32, and 0\.00 GB are free on cpu"):
        load_pair(toy_folders["target"], dtype="float32")


@pytest.fixture(scope="module")
def plain(toy_folders):
    return ids(load_pair(toy_folders["target"], toy_folders["draft"], device="cpu", dtype="float32", engine="eager"))


def ids(pair, settings=SETTINGS):
    return dsbd.decode(pair, "One day", settings).token_ids


def loaded(folder, **how):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False, **how)


def test_a_loaded_pair_decodes(toy_folders, plain):
    """Catches a loader that gets dtype, device, EOS or the checks wrong, and loaded models left in training mode."""
    pair = load_pair(toy_folders["target"], toy_folders["draft"], device="cpu", dtype="float32")
    assert (pair.eos, pair.target.dtype, pair.device) == (frozenset([256]), torch.float32, CPU)
    assert {role: check.passed for role, check in pair.checks.items()} == {"target": True, "draft": True}
    assert (pair.target.engine, pair.draft.engine, pair.fallbacks) == ("traced", "traced", [])
    assert ids(pair) == plain
    result = dsbd.decode(pair, "One day", SETTINGS)
    assert result.text == pair.detokenize(result.token_ids)
    assert dsbd.decode(pair, "", replace(SETTINGS, max_new_tokens=1)).token_ids  # empty becomes BOS
    with pytest.raises(dsbd.PromptError, match="exceeds the context of 128"):
        dsbd.decode(pair, "One day", dsbd.DecodingSettings(method="greedy", max_new_tokens=122))
    target, draft = (loaded(toy_folders[role]).train() for role in ("target", "draft"))
    assert ids(make_pair(target, draft, toy_tokenizer())) == plain
    assert not target.training
    with pytest.raises(PairError, match="cannot load"):
        load_pair(toy_folders["target"], load_kwargs={"no_such_argument": 1})


@pytest.mark.parametrize("method", ["greedy", "beam_search", "mjgd", "dsbd"])
def test_a_short_draft_limits_only_who_calls_it(method):
    """Catches a method without drafts that is refused for a context that it does not use."""
    draft = toy_model(1, 1)
    draft.config.max_position_embeddings = 12
    pair = replace(toy_pair(), draft=LanguageModel(draft, "short"))
    settings = read_settings(method, max_new_tokens=8, block=1)
    assert pair.used_by(settings).room_after(7) == (5 if method == "dsbd" else 121)
    if method == "dsbd":
        with pytest.raises(dsbd.PromptError, match="exceeds the context of 12 tokens of short"):
            dsbd.decode(pair, "One day", settings)
        settings = read_settings(method, max_new_tokens=8, draft_depth=0)
    assert dsbd.decode(pair, "One day", settings, record=True).trace.models.draft is not None


@pytest.mark.parametrize("way", ["target", "draft", "device map"])
def test_a_model_that_is_spread_decodes_alike(toy_folders, plain, tmp_path, way):
    """Catches a device read from a weight that is not there, a trace that has none of the moves, and a loader that
    gathers the layers again, or does not pass further arguments on."""
    models, role = (
        {role: loaded(toy_folders[role]) for role in ("target", "draft")},
        way.replace("device map", "target"),
    )
    if way == role:
        disk_offload(models[role], tmp_path, execution_device="cpu")
    else:
        how = {"device_map": SPREAD, "load_kwargs": {"offload_folder": str(tmp_path)}}
        models[role] = load_pair(toy_folders[role], dtype="float32", **how).target.model
        assert models[role].lm_head.weight.device.type == "meta"
    pair = make_pair(**models, tokenizer=toy_tokenizer())
    spread = getattr(pair, role)
    assert (spread.engine, spread.attention, str(spread.device)) == ("eager", "forest", "cpu")
    assert any("hooks move" in line and role in line for line in pair.fallbacks)
    assert ids(pair) == plain


@pytest.mark.parametrize("way", ["float64", "quantised in place", "quantised while loading", "padded"])
def test_a_target_of_another_kind_than_its_draft_decodes(toy_folders, way):
    """Catches distributions in the wrong dtype, a mask in the dtype of packed weights, and columns that are no token of
    the pair: a greedy text follows the target alone."""
    torchao = pytest.importorskip("torchao.quantization", reason="runs wherever torchao is installed")
    target = toy_model(1, 2) if way == "float64" else loaded(toy_folders["target"])
    if way == "quantised in place":
        torchao.quantize_(target, torchao.Int8WeightOnlyConfig())
    elif way == "quantised while loading":
        how = {"quantization_config": TorchAoConfig(torchao.Int8WeightOnlyConfig())}
        target = load_pair(toy_folders["target"], dtype="float32", device="cpu", load_kwargs=how).target.model
    elif way == "padded":
        target.resize_token_embeddings(272, mean_resizing=False)
    pair = make_pair(target, loaded(toy_folders["draft"]), toy_tokenizer())
    assert (pair.target.attention, pair.target.vocabulary_size, pair.draft.vocabulary_size) == ("forest", 260, 260)
    assert ids(pair, GREEDY) == ids(pair, dsbd.DecodingSettings(method="greedy", max_new_tokens=10))


def test_models_that_no_check_of_logits_would_find():
    """Catches a model that sees later tokens, experts that a trace fixes, and GPT-Neo in the forest: its window of 256
    slots is longer than the check."""
    bert = families.tiny_model("bert", is_decoder=False)
    with pytest.raises(PairError, match=r"not causal: .* is_decoder=True"):
        make_pair(LanguageModel(bert, "bert"), None, object())
    pair = make_pair(families.tiny_model("mixtral", vocab_size=260), None, toy_tokenizer(), "traced")
    assert (pair.target.engine, "experts" in pair.fallbacks[0]) == ("eager", True)
    outcome = check_forest(LanguageModel(families.tiny_model("gpt_neo", window_size=256), "gpt-neo"))
    assert (outcome.passed, "window" in outcome.reason) == (False, True)


FACTORS = {"short_factor": [1.0] * 2, "long_factor": [8.0] * 2, "short_mscale": 1.0, "long_mscale": 1.3}
LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32, **FACTORS}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
TURNS = {"rope_parameters": LONGROPE, "original_max_position_embeddings": 32, "sliding_window": None}
ROPES = {
    "longrope": ("phi3", TURNS, True),
    "experts": ("phimoe", TURNS, True),
    "dynamic": ("llama", {"rope_parameters": DYNAMIC, "max_position_embeddings": 32}, False),
}


@pytest.mark.parametrize("name", ROPES)
def test_rotations_that_change_with_the_length_are_not_crossed(name):
    """Catches a text beyond the length at which a model rotates by other factors: its keys in the cache keep the old
    ones, and a draft beyond it changes the rotation of the tokens before it, so ids depended on the draft."""
    family, fields, is_limited = ROPES[name]
    model = families.tiny_model(family, eos_token_id=None, **fields)
    pair = make_pair(LanguageModel(model, name), LanguageModel(model, "draft"), Digits(0, None))
    assert any("up to 32 tokens" in line for line in pair.fallbacks) == is_limited
    ids = [(7 * index + 3) % 10 for index in range(20)]
    how = {"attention_mask": torch.ones(1, 20, dtype=torch.int64), "do_sample": False, "max_new_tokens": 12}
    expected, prompt = model.generate(torch.tensor([ids]), **how)[0, 20:].tolist(), "".join(map(str, ids))
    for values in ({"method": "greedy"}, {"method": "speculative", "temperature": 0.0}):
        settings = dsbd.DecodingSettings(max_new_tokens=12, **values)
        assert dsbd.decode(pair, prompt, settings).token_ids == expected
        with pytest.raises(dsbd.PromptError, match=f"prompt of 20 tokens plus .* 14 exceeds .* 32 tokens of {name}"):
            dsbd.decode(pair, prompt, replace(settings, max_new_tokens=14))


@pytest.mark.parametrize("name", ["bloom", "gpt_neo", "mamba", "mpt", "roberta", "rwkv"])
def test_a_family_decodes_as_transformers_does(name):
    """Catches positions, biases, caches and states that are not those of the family, against ``generate`` at
    temperature 0: one family of each way. ``tests/models/tiny.py`` has the usual ones."""
    decoded = families.decoded(name)
    assert decoded.gap > families.CLEAR, "the best two tokens are too close to tell"
    assert decoded.ids == decoded.expected
    way = decoded.pair.target.attention
    assert way == decoded.pair.draft.attention == families.documented_ways()[name]
    assert way == "forest" or all(KEPT[way] in line for line in decoded.pair.fallbacks)


def test_onnx_takes_a_prompt_that_is_empty_or_fills_the_context():
    """Catches a forest without a prompt, whose positions the operator counts itself, and one that has more slots than
    the context has positions, which it refuses."""
    models = [toy_model(1, 1, head_size=16).float() for _ in range(2)]  # every draft is accepted
    ours, theirs = (make_pair(*models, toy_tokenizer(), engine) for engine in ("onnx", "eager"))
    settings = dsbd.DecodingSettings(max_new_tokens=4, draft_depth=3, draft_width=6)
    prompt = "a b " * 31
    assert ours.room_after(len(ours.encode(prompt))) == settings.max_new_tokens
    for text in ("", prompt):
        beams, expected = (dsbd.decode(pair, text, settings).beams for pair in (ours, theirs))
        assert [beam.token_ids for beam in beams] == [beam.token_ids for beam in expected]


class Spoiled(torch.nn.Module):
    """The last layer of a model, which gives wrong results after ``good`` calls."""

    def __init__(self, layer: torch.nn.Module, good: int, spoil) -> None:
        super().__init__()
        self.layer, self.good, self.spoil = layer, good, spoil

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        self.good -= 1
        return self.layer(states) if self.good >= 0 else self.spoil(self.layer(states))


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (None, "the {role} model returns .*NaN.* float32"),
        (torch.OutOfMemoryError("CUDA: 3 GiB.\nMore"), "out of memory while .*3 GiB.*_width"),
        (RuntimeError("DefaultCPUAllocator: can't allocate 9 bytes."), "out of memory while decoding"),
        (MemoryError(), "out of memory while decoding"),
    ],
)
def test_a_model_that_fails_while_it_decodes_is_an_error(role, error, message):
    """Catches a text decoded from NaN, torch's own error of many lines, and the ways in which a CPU says it."""
    model = toy_model(1, 2)
    model.lm_head = Spoiled(model.lm_head, 4, Mock(side_effect=error) if error else one_nan)
    pair = replace(toy_pair(), **{role: LanguageModel(model, f"toy/{role}")})
    with pytest.raises(dsbd.ModelError, match=message.format(role=role)) as caught:
        dsbd.decode(pair, "Once upon", dsbd.DecodingSettings(max_new_tokens=8))
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or error is None
    model.lm_head = Spoiled(toy_model(1, 2).lm_head, 0, one_nan)
    assert "not numbers (NaN)" in make_pair(model, None, toy_tokenizer()).checks["target"].reason


def test_bytes_are_those_of_the_text():
    """Catches a stand-in character that is taken for the byte it looks like, half a character that is shown as text or
    lost, an end of text that is an empty piece, and an id that is no token."""
    tokenizer = toy_tokenizer()
    pieces = TokenBytes(tokenizer)
    for text in ["Once upon a time", "é🙂漢字", "\x00\x01\x7f", "a\n\tb  c", "\u202ertl", "½ ÿ"]:
        assert b"".join(pieces.of(token) for token in tokenizer(text).input_ids) == text.encode()
    assert sorted(pieces.of(token) for token in range(256)) == [bytes([byte]) for byte in range(256)]
    assert [pieces.piece(token) for token in tokenizer("é").input_ids] == [("\ufffd", "c3"), ("\ufffd", "a9")]
    assert pieces.piece(tokenizer("a").input_ids[0]) == ("a", None)
    assert (pieces.piece(EOS), pieces.piece(100_000)) == (("<end>", None), ("", None))


def test_bytes_of_other_vocabularies():
    """Catches <0xC3> shown as six characters, the mark of a space that stays one, and plain words read as bytes."""
    tokenizer = llama_2_tokenizer()
    pieces, numbers = TokenBytes(tokenizer), tokenizer.get_vocab()
    assert pieces.of(numbers["<0xC3>"]) == b"\xc3"
    shown = {"<0x41>": ("A", None), "<0xC3>": ("\ufffd", "c3"), "▁a": (" a", None), "<end>": ("<end>", None)}
    assert {word: pieces.piece(numbers[word]) for word in shown} == shown
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "fox": 1, "é": 2}, unk_token="<unk>"))
    pieces = TokenBytes(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>"))
    assert (pieces.of(1), pieces.piece(2)) == (b"fox", ("é", None))


LETTERS = torch.tensor([10, 20, 30])


def letters_that_change(ids, scores):
    """Allow three letters, never the same one twice in a row: what is allowed depends on the sequence."""
    processed = torch.full_like(scores, -torch.inf)
    processed[:, LETTERS] = scores[:, LETTERS]
    return processed.scatter(1, ids[:, -1:], -torch.inf)


def decoded(method: str, processors=(letters_that_change,), **values) -> dsbd.DecodingResult:
    settings = read_settings(method, **{"max_new_tokens": 3, "top_k": 0} | values)
    return dsbd.decode(toy_pair(), "One day", settings, processors=processors)


def test_beams_are_those_of_the_enumeration():
    """Catches a distribution that is warped or normalised before it is processed, and a forest that changes the
    hypotheses."""
    start, words = toy_pair().encode("One day"), torch.tensor(list(product(LETTERS.tolist(), repeat=3)))
    ids, weights = torch.cat([torch.tensor([start]).expand(len(words), -1), words], dim=1), torch.zeros(len(words))
    with torch.inference_mode():
        logits = toy_pair().target.model(ids).logits
    for index in range(len(start), ids.shape[1]):
        log_probs = letters_that_change(ids[:, :index], logits[:, index - 1]).log_softmax(dim=1)
        weights = weights + log_probs.gather(1, ids[:, index : index + 1])[:, 0]
    searched = decoded("beam_search", num_beams=12)
    assert searched.token_ids == words[weights.argmax()].tolist()
    assert searched.beams[0].log_weight == pytest.approx(float(weights.max()))
    drafted = decoded("speculative_beam_search", num_beams=12)
    assert [beam.token_ids for beam in drafted.beams] == [beam.token_ids for beam in searched.beams]


def test_no_processor_sees_a_sequence_that_no_beam_can_hold():
    """Catches a grammar that is asked about what it forbade, or about what follows EOS, and raises."""

    def strict(ids, scores):
        for sequence in ids.tolist():
            new = sequence[len(toy_pair().encode("One day")) :]
            assert EOS not in new
            assert set(new) <= {*LETTERS.tolist(), EOS}
        processed = torch.full_like(scores, -torch.inf)
        processed[:, [*LETTERS.tolist(), EOS]] = scores[:, [*LETTERS.tolist(), EOS]]
        return processed

    for replacement in (True, False):
        decoded("dsbd", [strict], max_new_tokens=8, draft_width=8, replacement=replacement, cover_width=4, seed=3)


def test_what_cannot_be_combined_is_refused():
    for changes, message in (({"draft_depth": "auto"}, "auto measures without"), ({"method": "mjgd"}, "mjgd searches")):
        with pytest.raises(dsbd.SettingsError, match=message):
            dsbd.decode(toy_pair(), "One day", dsbd.DecodingSettings(**changes), processors=[letters_that_change])
    with pytest.raises(dsbd.ModelError, match="forbid every next token"):
        decoded("sampling", [lambda ids, scores: torch.full_like(scores, -torch.inf)])


@pytest.mark.parametrize(("rank", "expected"), [("0", [0]), ("3", [1]), ("", []), ("x", [])])
def test_a_launcher_says_which_gpu(rank, expected, monkeypatch):
    """Catches processes of one machine that all take its first GPU."""
    chosen = []
    monkeypatch.setenv("LOCAL_RANK", rank)
    for name, value in {"is_available": True, "device_count": 2}.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert (resolve_device("auto"), chosen) == (torch.device("cuda"), expected)
