"""What the two bundled pairs are made of: text, sizes, and which tokens count in the loss."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from training.corpus import STORY_PARTS, Part, read_part, split

TOKENIZER_BOOK_SECTIONS = 300


@dataclass(frozen=True)
class Recipe:
    """One bundled pair."""

    parts: dict[str, Part]
    """The corpus: where each part lies and how it is cut into documents."""
    mix: dict[str, float]
    """Share of the training rows by part."""
    vocabulary_size: int
    tokenizer_texts: Callable[[Path], list[str]]
    """The texts in a data folder from which the tokenizer learns."""
    target_layers: int
    sizes: dict[str, int]
    """Sizes of both members, as ``LlamaConfig`` names them."""
    draft_intermediate_size: int
    answer: str | None = None
    """The word behind which a document's answer begins; the rest of the document counts little in the loss. None: all
    tokens count alike."""
    sampled: str | None = None
    """The part with whose openings the target writes texts that the draft also learns on."""
    row_tokens: int = 256
    """Length of the target's training rows."""
    draft_row_tokens: int = 512
    """Length of the draft's training rows."""
    batch_tokens: int = 8192
    """Tokens of each of the target's training steps."""
    long_share: float = 0.15
    """The last share of the target's run that has rows of 1,024 tokens."""
    whole_documents: bool = False
    """Whether every training row begins at the beginning of a document."""


def _story_texts(data: Path) -> list[str]:
    texts = split(read_part(data, STORY_PARTS["stories"]))[0]
    texts += split(read_part(data, STORY_PARTS["tales"]))[0]
    return texts + split(read_part(data, STORY_PARTS["books"]))[0][:TOKENIZER_BOOK_SECTIONS]


SQL_PART = Part("train.jsonl.gz")
TOKENIZER_SQL_EXAMPLES = 50_000


def _sql_texts(data: Path) -> list[str]:
    return split(read_part(data, SQL_PART))[0][:TOKENIZER_SQL_EXAMPLES]


RECIPES = {
    "stories": Recipe(
        parts=STORY_PARTS,
        mix={"stories": 0.88, "tales": 0.04, "books": 0.08},
        vocabulary_size=4096,
        tokenizer_texts=_story_texts,
        target_layers=16,
        sizes={"hidden_size": 256, "intermediate_size": 688, "num_attention_heads": 4, "num_key_value_heads": 2},
        draft_intermediate_size=896,
        sampled="stories",
    ),
    "sql": Recipe(
        parts={"questions": SQL_PART},
        mix={"questions": 1.0},
        vocabulary_size=2048,
        tokenizer_texts=_sql_texts,
        target_layers=20,
        sizes={"hidden_size": 192, "intermediate_size": 512, "num_attention_heads": 3, "num_key_value_heads": 1},
        draft_intermediate_size=768,
        answer="SQL",
        row_tokens=128,
        draft_row_tokens=128,
        batch_tokens=4096,
        long_share=0.0,
        whole_documents=True,
    ),
}
