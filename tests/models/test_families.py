"""Models of other families decode, at temperature 0, the ids of ``generate(do_sample=False)``; some are refused."""

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel, GPTNeoConfig, GPTNeoForCausalLM

from benchmarks.families import CLEAR, VOCABULARY, decoded, told_ways
from dsbd.errors import PairError
from dsbd.models.check import check_forest
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import KEPT


@pytest.mark.parametrize("name", ["bloom", "gpt_neo", "mamba", "mpt", "roberta", "rwkv"])
def test_a_family_decodes_as_transformers_does(name: str) -> None:
    """Catches positions, windows, biases, caches and states that are not those of the family: one family of each way,
    and those with unusual positions or windows. ``tests/models/tiny.py`` has the usual ones."""
    found = decoded(name)
    assert found.gap > CLEAR, "the best two tokens are too close to tell"
    assert found.ids == found.expected
    way = found.pair.target.attention
    assert way == found.pair.draft.attention == told_ways()[name]
    assert way == "forest" or all(KEPT[way] in line for line in found.pair.fallbacks)


def test_a_model_that_sees_later_tokens_is_refused() -> None:
    """Catches a model whose law of a token depends on what is drafted behind it."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24
    )
    with torch.no_grad():
        model = BertLMHeadModel(config)
        for weight in model.parameters():
            weight.normal_(0.0, 0.4)
    with pytest.raises(PairError, match=r"not causal: .* is_decoder=True"):
        make_pair(LanguageModel(model.eval(), "bert"), None, object())


def test_local_layers_are_not_trusted_to_a_short_check() -> None:
    """Catches GPT-Neo in the forest: its window of 256 slots is longer than the check, and counts other branches."""
    config = GPTNeoConfig(vocab_size=VOCABULARY, hidden_size=16, num_layers=2, num_heads=4, intermediate_size=24,
                          attention_types=[[["global", "local"], 1]], max_position_embeddings=512)  # fmt: skip
    outcome = check_forest(LanguageModel(GPTNeoForCausalLM(config).eval(), "gpt-neo"))
    assert not outcome.passed
    assert "window" in outcome.reason
