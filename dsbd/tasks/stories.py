"""Openings of stories for children, to be continued: for speed and perplexity, with no right answers.

The openings are made by a small grammar from a seed, in words that the bundled story pair knows.
"""

import hashlib
from string import Template

from dsbd.assets import asset_path
from dsbd.tasks.task import Question, Task

COUNT = 400
"""Number of openings, the bundled prompts included."""

WORDS = {
    "girl": ["Lily", "Anna", "Sara", "Mia", "Lucy", "Ella", "Rosie", "Jane", "Emma", "Molly", "Nina", "Amy"],
    "boy": ["Tom", "Ben", "Max", "Jack", "Sam", "Tim", "Leo", "Billy", "Peter", "Joe", "Fred", "Danny"],
    "animal": ["cat", "dog", "bird", "frog", "rabbit", "bear", "fox", "mouse", "duck", "turtle", "squirrel", "pony"],
    "small": ["little", "big", "brown", "shy", "clever", "happy", "hungry", "sleepy", "brave", "kind", "lonely"],
    "thing": ["ball", "kite", "box", "key", "hat", "boat", "drum", "book", "bell", "toy", "cake", "lamp"],
    "colour": ["red", "blue", "green", "yellow", "shiny", "big", "new", "soft"],
    "place": ["park", "garden", "forest", "beach", "farm", "kitchen", "shop", "pond", "yard", "river", "barn"],
    "like": ["play outside", "sing songs", "run very fast", "look at the stars", "eat apples", "climb trees"],
    "weather": ["sunny", "cold", "windy", "rainy", "warm", "snowy"],
    "person": ["mom", "dad", "grandma", "grandpa", "sister", "brother", "teacher"],
}

OPENINGS = [
    "Once upon a time, there was a $small $animal who lived near the $place. It liked to $like.",
    "One $weather day, a girl named $girl went to the $place with her $person.",
    "One $weather day, a boy named $boy found a $colour $thing near the $place.",
    "$girl and $boy were playing near the $place when they saw a $small $animal.",
    '"Can I have the $colour $thing, please?" $girl asked her $person.',
    "A $small $animal lost its $thing. It looked for it near the $place.",
    "$boy had a $colour $thing. He took it to the $place every day, but one day",
    "It was a $weather morning. $girl put on her coat and ran to the $place.",
    "The $animal and the $small mouse were best friends. They liked to $like.",
    '"Look!" said $boy. "There is a $colour $thing behind the $animal!"',
]


class Stories(Task):
    """Story openings: the bundled prompts first, then openings made by the grammar. None has a right answer."""

    name = "stories"
    version = 1
    max_new_tokens = 128

    def __init__(self) -> None:
        lines = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()
        openings = dict.fromkeys(line.strip() for line in lines if line.strip())
        number = 0
        while len(openings) < COUNT:
            openings.setdefault(_opening(number))
            number += 1
        super().__init__(Question(f"story-{place}", text) for place, text in enumerate(openings))


def _opening(number: int) -> str:
    """Return the opening with this number: forms take turns, a hash chooses the words."""
    chosen = {}
    for slot, words in WORDS.items():
        digest = hashlib.sha256(f"{number}:{slot}".encode()).digest()
        chosen[slot] = words[int.from_bytes(digest[:4], "big") % len(words)]
    return Template(OPENINGS[number % len(OPENINGS)]).substitute(chosen)
