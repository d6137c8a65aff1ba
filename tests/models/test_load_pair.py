"""``load_pair`` refuses bad models in one line that names the value and the remedy, and falls back if it can."""

import io
import os
import pickle
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

import dsbd
from dsbd.errors import DsbdError, PairError, PromptError
from dsbd.models.loading import load_pair
from tests.models.tiny import VOCABULARY, tiny_model


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def _tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    backend = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token=words[2]))
    backend.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=words[0], eos_token=words[1], unk_token=words[2])


WORDS = ["<s>", "</s>", "<unk>", *(f"w{place}" for place in range(VOCABULARY - 3))]


def _save(folder: Path, family: str = "llama", words: list[str] = WORDS, seed: int = 0) -> Path:
    tiny_model(family, seed, torch.float32).model.save_pretrained(folder)
    _tokenizer(words).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save(tmp_path_factory.mktemp("draft"), seed=1)


def _refused(*names: str, **arguments: object) -> str:
    """Return the message of the PairError, which must be one line that names all of ``names``."""
    with pytest.raises(PairError) as caught:
        load_pair(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    assert message == message.strip()
    for name in names:
        assert name in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def test_missing_folder(tmp_path: Path) -> None:
    """Catches a bare OSError of the library, or a message without a remedy."""
    _refused("nowhere", "hub id", target=tmp_path / "nowhere")


def test_a_bundled_pair_that_does_not_exist() -> None:
    """Catches a bundled name that is looked up on a hub."""
    _refused("bundled:poems", "bundled:stories, bundled:sql", target="bundled:poems")


def test_a_bundled_pair_brings_its_own_draft(draft: Path) -> None:
    """Catches a draft that is silently replaced."""
    _refused("bundled:stories", str(draft), target="bundled:stories", draft=draft)


def test_empty_folder(tmp_path: Path) -> None:
    """Catches an error of the library on a folder that holds no model."""
    _refused(tmp_path.name, "config.json", target=tmp_path)


def test_broken_config(tmp_path: Path) -> None:
    """Catches a JSON error that escapes."""
    (tmp_path / "config.json").write_text("{ not json")
    _refused(tmp_path.name, "give a folder or hub id", target=tmp_path)


def test_missing_tokenizer(tmp_path: Path) -> None:
    """Catches a bare error where the model is there and its tokenizer is not."""
    tiny_model("llama", dtype=torch.float32).model.save_pretrained(tmp_path)
    _refused("tokenizer", tmp_path.name, "save it here with", target=tmp_path)


def test_truncated_weights(tmp_path: Path) -> None:
    """Catches an error of the weights' reader that escapes."""
    _save(tmp_path)
    weights = tmp_path / "model.safetensors"
    for kept in (-4, 200):
        weights.write_bytes(weights.read_bytes()[:kept])
        _refused(tmp_path.name, "model.safetensors", "download it again", target=tmp_path)


class Malicious:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.mark}",)


def _zipped(mark: Path) -> bytes:
    file = io.BytesIO()
    torch.save({"lm_head.weight": Malicious(mark)}, file)
    return file.getvalue()


def _bare(mark: Path) -> bytes:
    return pickle.dumps(Malicious(mark), protocol=2)


@pytest.mark.parametrize("content", [_zipped, _bare, lambda mark: b"rubbish", lambda mark: b""])
def test_pickled_weights_are_not_run(content, tmp_path: Path) -> None:
    """Catches weights that run code, an unpickling error that escapes, and torch's advice to run them all the same."""
    _save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(content(tmp_path / "mark"))
    message = _refused(tmp_path.name, "save the weights as safetensors", target=tmp_path)
    assert "weights_only" not in message
    assert not (tmp_path / "mark").exists()


def test_weights_too_large_for_memory(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an error of torch that escapes where a model does not fit the device, and a wrong remedy."""

    def to(self, device):
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 80 GiB.")

    monkeypatch.setattr(torch.nn.Module, "to", to)
    _refused(target.name, "memory ran out", "smaller model", target=target)


def test_encoder_decoder(tmp_path: Path) -> None:
    """Catches an encoder-decoder that loads, or fails with the library's list of classes."""
    config = T5Config(vocab_size=VOCABULARY, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    _refused("encoder-decoder", "decoder-only", target=tmp_path)


def test_different_vocabularies(target: Path, tmp_path: Path) -> None:
    """Catches a pair whose ids mean different tokens."""
    other = _save(tmp_path, words=WORDS[:3] + WORDS[:2:-1])
    _refused("vocabularies differ", f"{VOCABULARY} entries", "3 agree", "same family", target=target, draft=other)


def test_draft_without_target(draft: Path) -> None:
    """Catches a given draft that is silently dropped."""
    _refused(draft.name, "without a target", draft=draft)


@pytest.mark.parametrize("device", ["abacus", "cuda:99", "", "meta"])
def test_unknown_device(target: Path, device: str) -> None:
    """Catches a RuntimeError of torch, or a device that holds no numbers."""
    _refused(repr(device), "use auto, cpu or cuda", target=target, device=device)


@pytest.mark.parametrize("dtype", ["float8", "", "torch.float32"])
def test_unknown_dtype(target: Path, dtype: str) -> None:
    """Catches a KeyError, or a silent default."""
    _refused(repr(dtype), "bfloat16", target=target, dtype=dtype)


def test_pair_without_draft_says_which_methods_need_one(target: Path) -> None:
    """Catches an AttributeError deep in the decoder."""
    pair = load_pair(target, device="cpu", dtype="float32")
    assert pair.draft is None
    with pytest.raises(PairError, match="needs a draft model") as caught:
        dsbd.decode(pair, "w1 w2", dsbd.DecodingSettings(max_new_tokens=2))
    assert "\n" not in str(caught.value)
    result = dsbd.decode(pair, "w1 w2", dsbd.DecodingSettings(method="beam_sampling", max_new_tokens=3))
    assert 1 <= len(result.token_ids) <= 3


def test_loaded_pair_decodes(target: Path, draft: Path) -> None:
    """Catches a loader that gets dtype, device, EOS or the forest check wrong."""
    pair = load_pair(target, draft, device="cpu", dtype="float32")
    assert pair.eos == frozenset([1])
    assert {role: check.passed for role, check in pair.checks.items()} == {
        "target": True,
        "draft": True,
        "target traced": True,
        "draft fused": True,
    }
    assert pair.target.dtype == torch.float32
    assert pair.device == torch.device("cpu")
    result = dsbd.decode(pair, "w1 w2 w3", dsbd.DecodingSettings(max_new_tokens=5, seed=2))
    assert 1 <= len(result.token_ids) <= 5
    assert result.text == pair.decode(result.token_ids)
    assert dsbd.decode(pair, "", dsbd.DecodingSettings(max_new_tokens=1)).token_ids  # empty becomes BOS


def test_prompt_beyond_the_context(target: Path) -> None:
    """Catches positions past what the model was made for."""
    pair = load_pair(target, device="cpu", dtype="float32")
    for chosen in (dsbd.DecodingSettings(method="greedy", max_new_tokens=254),):
        with pytest.raises(PromptError, match="context of 256") as caught:
            dsbd.decode(pair, "w1 w2 w3", chosen)
        assert isinstance(caught.value, DsbdError)


def test_alibi_takes_the_forest_and_decodes_alike(tmp_path: Path, draft: Path) -> None:
    """Catches a bias that decodes to other ids than every path computed alone on the same weights."""
    alibi = _save(tmp_path / "bloom", "bloom")
    pair = load_pair(alibi, draft, device="cpu", dtype="float64")
    assert (pair.target.attention, pair.draft.attention) == ("forest", "forest")
    for method in ("greedy", "beam_search"):
        chosen = dsbd.DecodingSettings(method=method, max_new_tokens=5, num_beams=3)
        assert dsbd.decode(pair, "w1 w2 w3", chosen).token_ids == _searched(pair, [3 + 1, 3 + 2, 3 + 3], method)
    drafted = dsbd.DecodingSettings(temperature=0.0, max_new_tokens=5, draft_depth=2, draft_width=2, min_width=1)
    greedy = dsbd.decode(pair, "w1 w2 w3", dsbd.DecodingSettings(method="greedy", max_new_tokens=5))
    assert dsbd.decode(pair, "w1 w2 w3", drafted).token_ids == greedy.token_ids


@torch.inference_mode()
def _searched(pair, prompt: list[int], method: str) -> list[int]:
    """Greedy or beam search written out: every path alone, the best ``width`` of all extensions kept."""
    width = 1 if method == "greedy" else 3
    alive, finished = [((), 0.0)], []
    for _ in range(5):
        found = []
        for path, weight in alive:
            logits = pair.target.model(torch.tensor([[*prompt, *path]])).logits[0, -1]
            found += [((*path, token), weight + p) for token, p in enumerate(logits.log_softmax(0).tolist())]
        best = sorted(found, key=lambda entry: -entry[1])[:width]
        finished += [entry for entry in best if entry[0][-1] in pair.eos]
        alive = [entry for entry in best if entry[0][-1] not in pair.eos]
    return list(max(finished + alive, key=lambda entry: entry[1] / len(entry[0]))[0])


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"target": 3}, "target is 3; give a folder"),
        ({"target": ""}, "target is ''; give a folder"),
        ({"target": object()}, "target is of type object; .*make_pair"),
        ({"target": "bundled:sql", "draft": object()}, "draft is of type object; .*make_pair"),
    ],
    ids=["number", "empty", "target", "draft"],
)
def test_what_is_no_name_is_refused(named, said):
    """Catches a model that is taken for a hub id, and a number that is asked of the hub."""
    with pytest.raises(PairError, match=said):
        dsbd.load_pair(**named)
