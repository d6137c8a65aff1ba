"""Every causal family that transformers offers decodes, at temperature 0, the ids of ``generate(do_sample=False)``."""

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel

from dsbd.errors import PairError
from dsbd.models.check import check_forest
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import KEPT
from tests.models.families import BLOCK, CLEAR, LEFT_OUT, PAGE, VOCABULARY, decoded, families, tables, told_ways

QUICK = {"bloom", "gpt_neo", "mamba", "mpt", "roberta", "rwkv"}
"""One of each way, and those whose positions or windows are of an own kind; tests/models/tiny.py has the usual ones."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in families()]
)
def test_a_family_decodes_as_transformers_does(name: str) -> None:
    """Catches positions, windows, biases, caches and states that are not those of the family."""
    found = decoded(name)
    assert found.gap > CLEAR, "the best two tokens are too close to tell"
    assert found.ids == found.expected
    assert found.pair.target.attention == found.pair.draft.attention
    if found.pair.target.attention != "forest":
        assert all(KEPT[found.pair.target.attention] in line for line in found.pair.fallbacks)
    told = told_ways()
    if name in told:  # a later transformers has families that the page does not know
        assert found.pair.target.attention == told[name]


def test_the_page_has_the_tables_that_are_made() -> None:
    """Catches a family that is on no list, and a table that was edited by hand."""
    told = told_ways()
    assert not set(told) & set(LEFT_OUT)
    assert set(told.values()) <= {"forest", "states", "steps", "paths"}
    block = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert block is not None
    assert block[0] == f"<!-- families -->\n{tables(told)}\n<!-- /families -->"


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
    from transformers import GPTNeoConfig, GPTNeoForCausalLM

    config = GPTNeoConfig(vocab_size=VOCABULARY, hidden_size=16, num_layers=2, num_heads=4, intermediate_size=24,
                          attention_types=[[["global", "local"], 1]], max_position_embeddings=512)  # fmt: skip
    outcome = check_forest(LanguageModel(GPTNeoForCausalLM(config).eval(), "gpt-neo"))
    assert not outcome.passed
    assert "window" in outcome.reason
