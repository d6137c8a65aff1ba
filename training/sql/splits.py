"""The splits: which combinations training never sees, and how questions are drawn for each split."""

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from training.sql.examples import MOST_CLAUSES, Example, anonymous, example, triples
from training.sql.golds import databases, means_something
from training.sql.heldout import HELD_OUT
from training.sql.render import draw_forms, sql
from training.sql.skeletons import LONGER, SKELETONS

SEEDS = {"training": 11, "validation": 12, "iid": 13, "compound": 14, "length": 15}
COUNTS = {"validation": 330, "iid": 330, "compound": 170, "length": 170}
MOST_OF_ONE_SKELETON = {"validation": 8, "iid": 8, "compound": 12, "length": 40}
SHARDS = 5
SHARD = 50_000
"""Training examples of one shard; a shard depends on its number alone."""
TRIES = {"validation": 150_000, "iid": 150_000, "compound": 60_000, "length": 60_000}
"""Candidates after which a split gives up."""


def weights(skeletons: dict[str, tuple[Any, ...]]) -> dict[str, float]:
    """Return the weight of each skeleton."""
    return {name: weight for name, (weight, *_) in skeletons.items()}


def candidates(split: str, skeletons: dict[str, float], shard: int = 0) -> Iterator[Example]:
    """Yield examples of a split's seed that its combinations allow; golds are not checked."""
    rng = random.Random(f"{SEEDS[split]} {shard}")
    while True:
        name = rng.choices(list(skeletons), weights=list(skeletons.values()))[0]
        one = example(name, rng.getrandbits(48), MOST_CLAUSES + 1 if split == "length" else None)
        if one is None:
            continue
        if split == "compound":
            allowed = bool(triples(one.skeleton, one.gold) & HELD_OUT)
        else:
            allowed = split == "length" or not one.triples & HELD_OUT
        if allowed:
            yield one


def reserved(text: str) -> bool:
    """Say whether a query belongs to evaluation: every tenth, by its text."""
    return zlib.crc32(text.encode()) % 10 == 0


@dataclass(frozen=True)
class Seen:
    """The value-anonymised forms that training has."""

    golds: frozenset[str]
    """Of right answers."""
    texts: frozenset[str]
    """Of the SQL itself, which may have another reading or be written in another form."""


def seen_in_training() -> Seen:
    """Draw the training examples and return their forms; this takes minutes."""
    drawn = [(anonymous(sql(one.gold)), anonymous(text)) for shard in range(SHARDS) for one, text in training(shard)]
    return Seen(frozenset(gold for gold, _ in drawn), frozenset(text for _, text in drawn))


def fits(split: str, text: str, seen: Seen) -> bool:
    """Say whether a gold belongs to a split: `compound` has only new forms, `iid` new values in forms of training."""
    if "'" not in text and not any(character.isdigit() for character in text):
        return False
    if split == "compound":
        return anonymous(text) not in seen.golds and anonymous(text) not in seen.texts
    return split == "length" or (reserved(text) and anonymous(text) in seen.golds)


def questions(split: str, taken: set[str], seen: Seen) -> list[Example]:
    """Return the questions of an evaluation split whose SQL is not taken; golds are checked."""
    connections = databases()
    found: list[Example] = []
    each: Counter[str] = Counter()
    skeletons = weights(LONGER if split == "length" else SKELETONS)
    if split == "compound":
        names = {skeleton for skeleton, _, _ in HELD_OUT}
        skeletons = {name: 1.0 for name in skeletons if name in names}
    for tries, one in enumerate(candidates(split, skeletons)):
        if len(found) == COUNTS[split] or tries == TRIES[split]:
            break
        text = sql(one.gold)
        if text in taken or not fits(split, text, seen):
            continue
        if means_something(one.gold, connections):
            taken.add(text)
            found.append(one)
            each[one.skeleton] += 1
            if each[one.skeleton] == MOST_OF_ONE_SKELETON[split] and len(skeletons) > 1:
                del skeletons[one.skeleton]  # the draw goes on without it
    return found


def training(shard: int, count: int = SHARD) -> Iterator[tuple[Example, str]]:
    """Yield a shard's training examples and the SQL drawn for each; questions with a reserved reading are left out."""
    rng = random.Random(f"forms {shard}")
    done = 0
    for one in candidates("training", weights(SKELETONS), shard):
        if done == count:
            return
        if any(reserved(sql(query)) for query in one.queries):
            continue
        done += 1
        yield one, sql(one.queries[one.drawn], draw_forms(rng))
