"""Bytes and times of forwards."""

from dsbd.measure.hardware import slot_bytes, weight_bytes
from dsbd.models.language_model import LanguageModel
from tests.toy_pair import toy_model, toy_pair


def test_bytes_come_from_the_shapes():
    """Catches untied input embeddings that count as read, and values that are forgotten: every floor would change."""
    model = toy_model(1, 2)
    own = sum(weight.numel() for weight in model.parameters()) - 260 * 32
    assert weight_bytes(LanguageModel(model, "toy")) == 8 * own
    target = toy_pair().target
    config = target.config
    parts = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    assert slot_bytes(target) == parts * target.dtype.itemsize == target.new_cache(5).bytes / 5
