"""A word told at the beginning of a long prompt, and asked for at its end: what does a model remember?

Between the two sentences stand stories that the bundled story target wrote.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

from dsbd.assets import asset_path
from dsbd.tasks.files import read_text
from dsbd.tasks.task import Question, Score, Task, in_order

NEEDLE = "The secret animal is a"
NEEDLE_WORDS = (
    "cat", "dog", "bird", "bear", "fish", "frog", "duck", "mouse", "lion", "horse", "bunny", "rabbit", "fox", "cow",
    "pig", "sheep", "goat", "bee", "worm", "hen", "monkey", "truck", "tiger", "turtle", "snake", "spider", "squirrel",
    "wolf", "crab", "whale", "shark", "kitten", "puppy", "butterfly", "deer", "dragon", "goose", "swan", "raven", "bat",
    "hare", "rat", "bull", "chicken", "crow", "lizard", "dinosaur", "seal", "fly", "fairy", "witch", "king", "queen",
    "ball", "tree", "car", "boat", "book", "hat", "key", "bell", "drum", "kite", "doll",
)  # fmt: skip
"""Each is one token of the bundled story pair."""
STORIES = "tasks/needle/stories.txt"
"""Among the bundled files."""
SEGMENT_CHARACTERS = 890
"""A task has no tokenizer: so many characters are about 224 tokens, a segment of the bundled memory."""
DISTANCES = range(1, 25)
"""Segments between the two sentences: up to 24 x 224 = 5,376 tokens."""
PER_DISTANCE = 10


class Needle(Task):
    """Ten questions for each distance. Without a memory a prompt beyond the context loses its beginning: the answer."""

    name = "needle"
    version = 1
    until = (".", "\n")
    max_new_tokens = 4
    metrics = MappingProxyType({"exact_match": True})
    main_metric = "exact_match"
    keeps_end = True

    def __init__(self) -> None:
        stories = read_text(asset_path(STORIES)).strip().split("\n\n")
        super().__init__(in_order(_questions("\n".join(stories))))

    def score(self, question: Question, answer: str) -> Score:
        """Score 1 if the first word is the one that was told."""
        return Score({"exact_match": float(re.findall(r"\w+", answer)[:1] == [*question.references])})


def _questions(stories: str) -> Iterator[Question]:
    """Yield the questions; each has another word and begins at another place of the stories, which repeat."""
    starts = [found.start() for found in re.finditer(r"^", stories, re.MULTILINE)]
    for distance in DISTANCES:
        for number in range(PER_DISTANCE):
            place = (distance - 1) * PER_DISTANCE + number
            word = NEEDLE_WORDS[(7 * place) % len(NEEDLE_WORDS)]
            start = starts[place * len(starts) // (len(DISTANCES) * PER_DISTANCE)]
            yield _question(f"{distance}-{number}", word, _filler(stories, start, distance), distance)


def _filler(stories: str, start: int, distance: int) -> str:
    length = distance * SEGMENT_CHARACTERS
    text = stories[start:] + "\n"
    while len(text) < length:
        text += stories + "\n"
    return text[: text.rindex(" ", 0, length)]


def _question(id: str, word: str, filler: str, distance: int) -> Question:
    told = f"{NEEDLE} {word}.\n\n{filler}"
    return Question(id, f"{told}\n{NEEDLE}", (word,), fields={"distance": f"{distance}"}, passage=(0, len(told)))
