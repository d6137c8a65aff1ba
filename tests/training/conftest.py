"""A tiny corpus, tokenizer and model, made here: these tests need no file and no network."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from training.corpus import SEPARATOR, STORY_PARTS, EncodedDocuments, encode_documents
from training.llama import model_config, new_model
from training.tokenizer import train_tokenizer

NAMES = ("Lily", "Tom", "Anna", "Ben", "Mia", "Sam")
THINGS = ("ball", "dog", "boat", "tree", "cake")
STORIES = [
    f"One day, {name} found a {thing}. {name} had {count} friends.\nThey played until night."
    for name in NAMES
    for thing in THINGS
    for count in range(2, 14)
]


@pytest.fixture(scope="session")
def tiny_tokenizer():
    return train_tokenizer(STORIES, vocabulary_size=320)


@pytest.fixture(scope="session")
def tiny_documents(tiny_tokenizer) -> EncodedDocuments:
    return encode_documents(tiny_tokenizer, STORIES)


@pytest.fixture
def tiny_model():
    return make_tiny_model(layers=2, seed=0)


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in STORY_PARTS.values():
        with gzip.open(folder / part.file, "wt", encoding="utf-8") as stream:
            stream.write(f"\n{SEPARATOR}\n".join(STORIES))
    return folder


def make_tiny_model(*, layers: int, seed: int):
    """Make a float32 model of 320 entries whose layers have an effect from the start."""
    config = model_config(
        layers,
        vocab_size=320,
        hidden_size=32,
        intermediate_size=48,
        head_dim=16,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = new_model(config, seed)
    random = torch.Generator().manual_seed(seed)
    for layer in model.model.layers:
        for weight in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight):
            weight.data.normal_(0, 0.2, generator=random)
    return model


def random_ids(rows: int, length: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 320, (rows, length)))
