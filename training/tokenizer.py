"""The byte-level BPE tokenizer of the pair: lossless on any text, BOS before every prompt."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from training.corpus import SEPARATOR

CONTEXT_TOKENS = 2048


def train_tokenizer(texts: Iterable[str], vocabulary_size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE; id 0 is `<|endoftext|>`, which is both BOS and EOS.

    There is no normaliser and all 256 bytes are in the alphabet, so decoding gives back the
    text that was encoded. BOS is prepended with `add_special_tokens=True`; EOS never is.
    """
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=f"{SEPARATOR} $A",
        pair=f"{SEPARATOR} $A {SEPARATOR} $B",
        special_tokens=[(SEPARATOR, backend.token_to_id(SEPARATOR))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=SEPARATOR,
        eos_token=SEPARATOR,
        clean_up_tokenization_spaces=False,
        add_prefix_space=False,
        model_max_length=CONTEXT_TOKENS,
    )
