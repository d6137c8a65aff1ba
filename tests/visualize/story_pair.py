"""Makes a pair whose laws are tables of word pairs; the traces in this folder were recorded from it.

Both models are real Llamas of one layer that adds nothing, so the next word depends on the last word alone. The target
follows the story closely, the draft less closely. The words are awkward on purpose: markup, quotes, right-to-left text,
a character that two tokens share, a NUL.
"""

import itertools
import math
from collections import Counter

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair

STORY = (
    "once upon a time a little fox lived in the old wood . the fox was kind . one day the fox met a little owl . "
    "the owl was sad . the fox said \"do not be sad\" . the owl said <b>hi</b> & smiled . a little bear saw the owl . "
    "the bear was kind . one day the bear and the fox met in the wood . the owl saw the old bear . 🦊 was happy . "
    "the fox found a shalom(שלום) stone . the bear said </script> . the owl and the fox were happy ."
)  # fmt: skip
END = "<end>"
SIZE = 64
"""Size of the hidden states: a place for each word, and some more."""
TARGET_SMOOTHING, DRAFT_SMOOTHING = 0.1, 0.5
"""Share of a law that is the frequency of the words, independent of the word before."""


def story_tokens() -> list[str]:
    """Return the story as tokens, written in the characters of byte-level vocabularies."""
    tokens = []
    for word in STORY.split():
        text = word if word == "." else f" {word}"
        (written, _), *_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
        tokens += [written[:1], written[1:3], written[3:]] if word == "🦊" else [written]
    return [*tokens, END]


TOKENS = story_tokens()
VOCABULARY = {token: place for place, token in enumerate(dict.fromkeys(["Ā", *TOKENS]))}
"""``Ā`` stands for the byte 0."""


def story_tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token for each word of the story."""
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="."))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False)
    fast.add_special_tokens({"eos_token": END})
    return fast


def table(smoothing: float) -> torch.Tensor:
    """Return log-probabilities, one row for each last word."""
    ids = [VOCABULARY[token] for token in TOKENS]
    alone, pairs = Counter(ids), Counter(itertools.pairwise(ids))
    before = Counter(ids[:-1])
    size = len(VOCABULARY)
    rows = torch.empty(size, size, dtype=torch.float64)
    for last, word in itertools.product(range(size), range(size)):
        follows = pairs[last, word] / before[last] if before[last] else 0.0
        frequency = (alone[word] + 0.1) / (len(ids) + 0.1 * size)
        rows[last, word] = math.log((1 - smoothing) * follows + smoothing * frequency)
    return rows


def story_model(smoothing: float) -> LlamaForCausalLM:
    """Make a Llama in float64 whose next-word law is a row of the table: embedding, then table, nothing between."""
    size = len(VOCABULARY)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=SIZE,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        bos_token_id=None,
        eos_token_id=VOCABULARY[END],
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).double().eval()
    layer = model.model.layers[0]
    with torch.no_grad():
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, SIZE))
        model.lm_head.weight.zero_()
        model.lm_head.weight[:, :size].copy_(table(smoothing).T / SIZE**0.5)  # the norm scales a unit vector by √SIZE
    return model


def story_pair() -> Pair:
    """Make the pair of the story."""
    target, draft = story_model(TARGET_SMOOTHING), story_model(DRAFT_SMOOTHING)
    return make_pair(LanguageModel(target, "toy-target"), LanguageModel(draft, "toy-draft"), story_tokenizer())


PROMPT = " once upon a"
