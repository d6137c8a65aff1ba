"""Makes a tiny random pair without files, for tests in which the words do not matter."""

from copy import deepcopy
from dataclasses import replace
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import dsbd
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.settings import FIELDS, Field, fields_of
from dsbd.tracing.trace import Trace

VOCABULARY = 260  # 256 bytes, then EOS and three spare ids
EOS = 256


class Iterations(dsbd.Observer):
    """Keeps the iterations of a decode."""

    def __init__(self) -> None:
        self.seen = []

    def on_iteration(self, iteration) -> None:
        self.seen.append(iteration)


def other_value(about: Field) -> Any:
    """A value of a setting that is not its default."""
    match about.kind:
        case "choice":
            return about.choices[1]
        case "switch":
            return not about.default
        case "number":
            return about.default / 2
        case _:
            return about.low if about.default is None else about.default + 1


GIVEN = {"min_width": 3, "max_width": 4, "branching": (3, 2), "depth_costs": (1.0,) * 5}
OTHER = {name: GIVEN.get(name) or other_value(about) for name, about in FIELDS.items() if name != "method"}
"""A value for each setting that is not its default."""
SPREAD = {name: [FIELDS[name].default, FIELDS[name].default, value] for name, value in OTHER.items()
          if "dsbd" in FIELDS[name].methods and name != "depth_costs"}  # fmt: skip
"""Of each setting of DSBD, values to draw from."""


def fitting(values: dict) -> dict:
    """Return the settings with what a coupled forest needs, if they have one: a fixed width, and no beam pruned."""
    needed = {"max_width": values.get("min_width", 1), "landing": True, "input_beams": None}
    return values | (needed if values.get("forest") == "coupled" else {})


def read_settings(method: str = "dsbd", **values) -> dsbd.DecodingSettings:
    """Return settings with those of the values that the method reads."""
    names = {one.name for one in fields_of(method)}
    return dsbd.DecodingSettings(method=method, **{name: value for name, value in values.items() if name in names})


def read_by_host(at_hand: bool, monkeypatch) -> None:
    """Let a decode take the path of a CPU, or that of an accelerator."""
    monkeypatch.setattr("dsbd.next_tokens.is_at_hand", lambda device: at_hand)


def toy_tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token per byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {character: place for place, character in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False)
    fast.add_special_tokens({"eos_token": "<end>", "bos_token": "<end>"})
    return fast


def llama_2_tokenizer() -> PreTrainedTokenizerFast:
    """Of the kind of Llama 2: a text begins with a space that is not shown, and unknown characters are bytes."""
    words = [*(f"<0x{byte:02X}>" for byte in range(256)), "<end>", "\u2581", "\u2581a", "a"]
    numbers = {word: place for place, word in enumerate(words)}
    made = Tokenizer(models.BPE(numbers, [("\u2581", "a")], byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    shown = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(shown)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", bos_token="<end>")


def chat_tokenizer() -> PreTrainedTokenizerFast:
    """Make the toy's tokenizer with a chat template."""
    tokenizer = toy_tokenizer()
    turn = "<end>{{ turn.role }}: {{ turn.content }}\n"
    tokenizer.chat_template = f"{{% for turn in messages %}}{turn}{{% endfor %}}reply: "
    return tokenizer


class Digits:
    """A tokenizer that reads ids from the digits of a prompt."""

    chat_template = None

    def __init__(self, bos: int | None, eos: int | None) -> None:
        self.bos_token_id, self.eos_token_id = bos, eos

    def __call__(self, prompt: str, **_: object) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[int(digit) for digit in prompt])

    def decode(self, ids, **_: object) -> str:
        return "".join(str(token) for token in ids if token != self.eos_token_id)


def toy_model(seed: int, layers: int, head_size: int = 8) -> LlamaForCausalLM:
    """Make a random Llama in float64."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=head_size,
        max_position_embeddings=128,
        initializer_range=0.3,
        bos_token_id=EOS,
        eos_token_id=EOS,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).double().eval()


def small_model(vocabulary: int, seed: int, wobble: float, spread: float = 0.3) -> LanguageModel:
    """Make a Llama so small that the exact distribution of a decode's final beams can be added up; its EOS is token 1.

    Its weights are those of every seed plus ``wobble`` times its own; ``spread`` sets how peaked its distributions are.
    """
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, bos_token_id=None, eos_token_id=1,
    )  # fmt: skip
    model = LlamaForCausalLM(config).double().eval()
    weights = [weight for weight in model.parameters() if weight.dim() > 1]
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in weights:
            weight.normal_(0.0, spread)
        torch.manual_seed(seed)
        for weight in weights:
            weight += wobble * torch.randn_like(weight)
    return LanguageModel(model, f"tiny {seed}")


@lru_cache(maxsize=1)
def toy_pair() -> Pair:
    """Make a pair of models that share only the vocabulary; some drafts are accepted."""
    target = toy_model(1, 2)
    draft = toy_model(1, 2)
    with torch.no_grad():
        for parameter in draft.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, dtype=parameter.dtype))
    return make_pair(LanguageModel(target, "toy/target"), LanguageModel(draft, "toy/draft"), toy_tokenizer())


@lru_cache(maxsize=2)
def tied(pair: Pair) -> Pair:
    """Copy a pair so that its tokens tie: in both models each token is exactly as likely as its neighbour."""
    models = [deepcopy(one.model) for one in pair.models]
    with torch.no_grad():
        for one in models:
            one.lm_head.weight[1::2] = one.lm_head.weight[::2]
    return make_pair(*(LanguageModel(one, "toy/tied") for one in models), pair.tokenizer)


def toy_pair_on(engine: str) -> Pair:
    """Copy the toy pair and give it another engine."""
    pair = toy_pair()
    target, draft = (replace(one, model=deepcopy(one.model)) for one in (pair.target, pair.draft))
    return make_pair(target, draft, pair.tokenizer, engine)


@lru_cache(maxsize=1)
def onnx_pair() -> Pair:
    """Make a toy pair on ONNX Runtime."""
    models = [toy_model(1, layers, head_size=16).float() for layers in (2, 1)]
    pair = make_pair(*models, toy_tokenizer(), engine="onnx")
    assert [one.engine for one in pair.models] == ["onnx", "onnx"]
    return pair


OTHERS: dict[str, list[dict[str, Any]]] = {
    "dsbd": [
        {"temperature": 0.0, "draft_width": 4},
        {"temperature": 0.0, "replacement": False, "cover_width": 2, "min_width": 3},
        {"top_k": 3, "top_p": 0.8, "input_beams": 1, "landing": False},
        {"draft_depth": 0},
    ],
    "beam_sampling": [{"replacement": False}, {"temperature": 0.0}, {"top_k": 2, "top_p": 0.5}],
    "beam_search": [{"num_beams": 2}, {"top_k": 3}],
    "speculative_beam_search": [{"draft_width": 8, "num_beams": 2}, {"draft_width": 12, "top_k": 0}],
    "specinfer": [{"replacement": False, "branching": (3, 2)}, {"temperature": 0.0}, {"branching": (5,)}],
    "speculative": [{"temperature": 0.0}, {"top_p": 0.5}],
    "sampling": [{"temperature": 2.0}, {"top_k": 0}],
    "mjsd": [{"temperature": 0.0}, {"joint_threshold": 0.0}, {"draft_width": 1, "top_k": 2}],
    "mjgd": [{"block": 1}],
}


def toy_traces(method: str, count: int | None = None) -> list[Trace]:
    """The first ``count`` traces of a method, or all: with its defaults, then with other settings."""
    asked = [{}, *OTHERS.get(method, [])][:count]
    return [_toy(seed, method, tuple(settings.items())) for seed, settings in enumerate(asked)]


@cache
def _toy(seed: int, method: str, settings: tuple[tuple[str, Any], ...]) -> Trace:
    """A trace of a few tokens."""
    small = {"max_new_tokens": 5, "draft_depth": 2, "draft_width": 3, "num_beams": 3, "branching": (2, 2)}
    asked = read_settings(method, seed=seed, **small | dict(settings))
    trace = dsbd.decode(toy_pair(), "Once", asked, record=True).trace
    assert trace is not None
    return trace
