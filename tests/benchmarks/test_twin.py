"""A twin computes what the original computes, whatever its shape."""

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from benchmarks.twin import Shape, make_twin


def small(dtype=torch.float64, heads=4, key_value_heads=2, tied=True):
    """Make a random Llama whose epsilon matters."""
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=37, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=key_value_heads, head_dim=8, rms_norm_eps=1e-2, initializer_range=0.3,
        tie_word_embeddings=tied, bos_token_id=0, eos_token_id=[1, 2],
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for layer in (*model.model.layers, model.model):
            for norm in ("input_layernorm", "post_attention_layernorm", "norm"):
                if hasattr(layer, norm):
                    getattr(layer, norm).weight.uniform_(0.5, 1.5)
    return model.to(dtype).eval()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    "shape",
    [Shape(96, 64, 3, 8, 4), Shape(33, 41, 2, 8, 2), Shape(24, 40, 2, 12, 4)],
    ids=["wider", "four queries a key", "three queries a key"],
)
def test_logits_are_equal_in_float64(shape, tied):
    """Catches norms scaled the wrong way, an epsilon that is not scaled, and heads paired with another key.

    Llama's norm computes in float32 even if the weights are float64: that sets the tolerance.
    """
    model, ids = small(tied=tied), torch.randint(0, 37, (2, 19))
    with torch.inference_mode():
        ours, theirs = make_twin(model, shape)(ids).logits, model(ids).logits
    assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max()


def test_a_saved_twin_is_the_same_model(tmp_path):
    """Catches a configuration that does not fit the weights: it would load as another function; and added layers of
    zeros, which might be cheaper than real ones."""
    model, ids = small(), torch.randint(0, 37, (1, 11))
    twin = make_twin(model, Shape(96, 64, 3, 8, 4))
    assert twin.model.layers[2].mlp.up_proj.weight.detach().std().item() == pytest.approx(0.02, rel=0.2)
    twin.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float64, trust_remote_code=False)
    with torch.inference_mode():
        ours, theirs = loaded(ids).logits, model(ids).logits
    assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max()  # as above: norms compute in float32


def test_a_shape_that_holds_less_is_refused():
    with pytest.raises(ValueError, match="choose a larger shape"):
        make_twin(small(), Shape(96, 64, 1, 8, 4))
