"""The exported pair loads with plain transformers, and every file is small."""

import json

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

from training.__main__ import main
from training.corpus import encode_documents
from training.evaluate import mean_overlap, text_loss
from training.export import export_member
from training.llama import model_config, new_model

from .conftest import STORIES, make_tiny_model

LARGEST_FILE_BYTES = 9_000_000


def test_a_large_member_is_cut_into_small_bfloat16_files(tiny_tokenizer, tmp_path):
    sizes = {"hidden_size": 256, "intermediate_size": 688, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = new_model(model_config(6, vocab_size=4096, head_dim=64, **sizes), seed=0)
    export_member(model, tiny_tokenizer, tmp_path)
    shards = sorted(tmp_path.glob("*.safetensors"))
    assert len(shards) > 1
    assert max(file.stat().st_size for file in tmp_path.iterdir()) < LARGEST_FILE_BYTES
    with safe_open(shards[0], "pt") as shard:
        assert {shard.get_tensor(name).dtype for name in shard.keys()} == {torch.bfloat16}  # noqa: SIM118
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=False)
    for name, weight in loaded.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name
    assert loaded.generation_config.eos_token_id == 0
    assert loaded.lm_head.weight is loaded.model.embed_tokens.weight
    export_member(make_tiny_model(layers=1, seed=0), tiny_tokenizer, tmp_path)  # no old shard stays
    assert [p.name for p in tmp_path.glob("*.safetensors*")] == ["model.safetensors"]
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings["tokenizer_class"] == "PreTrainedTokenizerFast"  # every version of transformers knows it
    loaded = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    assert loaded("One day")["input_ids"] == tiny_tokenizer("One day")["input_ids"]


def test_only_answers_are_scored_where_a_marker_begins_them(tiny_model, tiny_tokenizer):
    """Catches a question that counts, or an answer that does not."""
    documents = encode_documents(tiny_tokenizer, STORIES[:3])
    marker = int(documents.ids[4])
    whole, part = text_loss(tiny_model, documents), text_loss(tiny_model, documents, marker)
    behind = sum(
        len(row) - 1 - list(row).index(marker) for row in map(documents.document, range(3)) if marker in row[:-1]
    )
    assert part["tokens"] == behind < whole["tokens"]
    assert 0 < part["nats_per_byte"] < whole["nats_per_byte"]
    assert mean_overlap(tiny_model, tiny_model, documents, marker) == pytest.approx(1.0, abs=1e-5)
    assert 0 < mean_overlap(tiny_model, make_tiny_model(layers=1, seed=5), documents) < 0.99


def test_bad_input_is_one_clear_line_and_exit_code_2(corpus_folder, tmp_path, capsys):
    work = ["draft", "--work", str(tmp_path)]
    for arguments, said in (
        (["--data", "nowhere"], "holds no tinystories.txt.gz"),
        (["--data", "d", "--seconds", "-3"], "not a positive number"),
        (["--data", str(corpus_folder)], "holds no tokenizer: run that stage first"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(work + arguments)
        assert stop.value.code == 2
        assert said in capsys.readouterr().err.splitlines()[-1]
