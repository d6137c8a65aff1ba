"""A naive oracle of the distribution, in plain Python and written differently from the shipped code.

Distributions are dictionaries from a path (tuple of token ids) to its probability; every residual is taken step by
step; beams are drawn one after the other. Nothing here imports the package.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from itertools import product
from operator import xor
from typing import NamedTuple

from scipy import stats

Path = tuple[int, ...]
Multiset = tuple[tuple[Path, int], ...]


class Warp(NamedTuple):
    """What shapes the joint distribution; 0 and 1 turn top_k and top_p off."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    replacement: bool = True


class Weighted(NamedTuple):
    """A beam: its path, raw log-weight and multiplicity."""

    path: Path
    log_weight: float
    multiplicity: int


class Tables:
    """Next-token tables of a target and a draft model that depend on the whole path.

    ``likeness`` mixes the target's table into the draft's: 0 unrelated, 1 equal.
    """

    def __init__(self, seed: int, vocabulary: int, eos: int | None = None, likeness: float = 0.5) -> None:
        self.seed, self.vocabulary, self.likeness = seed, vocabulary, likeness
        self.eos = frozenset() if eos is None else frozenset([eos])
        self.next_token = {"target": lru_cache(None)(self._target), "draft": lru_cache(None)(self._draft)}

    def _noise(self, role: str, path: Path) -> list[float]:
        source = random.Random(f"{self.seed} {role} {path}")
        masses = [source.random() ** 2 + 0.03 for _ in range(self.vocabulary)]
        return [mass / sum(masses) for mass in masses]

    def _target(self, path: Path) -> list[float]:
        return self._noise("target", path)

    def _draft(self, path: Path) -> list[float]:
        both = zip(self._target(path), self._noise("draft", path), strict=True)
        return [self.likeness * target + (1 - self.likeness) * noise for target, noise in both]


def joint(beams: list[Weighted], next_token, warp: Warp) -> list[tuple[Path, float]]:
    """Return the joint distribution of a layer, likeliest candidate first; ties go to the lowest (beam, token).

    At temperature 0 without replacement the probabilities are all 1: each candidate is certain in its turn.
    """
    entries = []
    for index, beam in enumerate(beams):
        for token, probability in enumerate(next_token(beam.path)):
            if probability > 0:
                weight = beam.log_weight + math.log(probability)
                if warp.temperature > 0:
                    weight = weight / warp.temperature + math.log(beam.multiplicity)
                entries.append((-weight, index, token, (*beam.path, token)))
    entries.sort()
    if warp.temperature == 0:
        if warp.replacement:
            return [(entries[0][3], 1.0)]
        return [(path, 1.0) for _, _, _, path in entries[: warp.top_k or None]]
    entries = entries[: warp.top_k or None]
    masses = [math.exp(entries[0][0] - entry[0]) for entry in entries]
    total = math.fsum(masses)
    kept, reached = [], 0.0
    for (_, _, _, path), mass in zip(entries, masses, strict=True):
        if warp.top_p < 1 and reached >= warp.top_p:
            break
        if mass > 0:
            kept.append((path, mass / total))
        reached += mass / total
    total = math.fsum(probability for _, probability in kept)
    return [(path, probability / total) for path, probability in kept]


def sequences(distribution: list[tuple[Path, float]], count: int, warp: Warp) -> dict[tuple[Path, ...], float]:
    """Return the distribution of ``count`` draws in order: independent, or draw, remove, renormalise, draw again."""
    masses: dict[tuple[Path, ...], float] = {}

    def grow(drawn: tuple[Path, ...], probability: float) -> None:
        left = distribution if warp.replacement else [entry for entry in distribution if entry[0] not in drawn]
        if len(drawn) == count or not left:
            masses[drawn] = masses.get(drawn, 0.0) + probability
        elif warp.temperature == 0:
            grow((*drawn, left[0][0]), probability)
        else:
            total = math.fsum(mass for _, mass in left)
            for path, mass in left:
                grow((*drawn, path), probability * mass / total)

    grow((), 1.0)
    return masses


def multiset(paths) -> Multiset:
    return tuple(sorted(Counter(paths).items()))


class Process:
    """Plain beam sampling from given beams, as an exact distribution over what a fixed number of layers leaves.

    ``settings`` hold ``early_stopping`` and what it reads; without them nothing ends early.
    """

    def __init__(self, tables: Tables, inputs: list[Weighted], warp: Warp, settings=None) -> None:
        self.tables, self.inputs, self.warp, self.settings = tables, inputs, warp, settings
        self._input_weight = {beam.path: beam.log_weight for beam in inputs}
        self.after = lru_cache(None)(self._after)
        self.target_distribution = lru_cache(None)(partial(self.distribution, role="target"))

    def log_weight(self, path: Path, role: str = "target") -> float:
        """The input beam's log-weight plus what ``role`` says of the tokens since."""
        if path in self._input_weight:
            return self._input_weight[path]
        return self.log_weight(path[:-1], role) + math.log(self.tables.next_token[role](path[:-1])[path[-1]])

    def distribution(self, alive: Multiset, role: str) -> list[tuple[Path, float]]:
        beams = [Weighted(path, self.log_weight(path, role), count) for path, count in alive]
        return joint(beams, self.tables.next_token[role], self.warp) if beams else []

    def ends(self, path: Path) -> bool:
        return bool(path) and path[-1] in self.tables.eos

    def living(self, beams: Multiset) -> Multiset:
        return tuple((path, count) for path, count in beams if not self.ends(path))

    def _after(
        self, alive: Multiset, layers: int, width: int, finished: Multiset = ()
    ) -> dict[tuple[Multiset, Multiset], float]:
        """(finished, alive) after ``layers`` more layers of ``width`` draws, the last of which are at the limit."""
        if layers == 0 or not alive:
            return {(finished, alive): 1.0}
        outcome: dict[tuple[Multiset, Multiset], float] = {}
        for drawn, probability in sequences(self.target_distribution(alive), width, self.warp).items():
            beams = multiset(drawn)
            ended = tuple(sorted(finished + tuple(entry for entry in beams if self.ends(entry[0]))))
            left = () if layers > 1 and self.stops(ended, self.living(beams)) else self.living(beams)
            for key, rest in self.after(left, layers - 1, width, ended).items():
                outcome[key] = outcome.get(key, 0.0) + probability * rest
        return outcome

    def stops(self, finished: Multiset, alive: Multiset) -> bool:
        """Whether ``early_stopping`` ends a decode with these beams, before the limit."""
        chosen, scores = self.settings, []
        if chosen is None or chosen.early_stopping is None:
            return False
        for path, count in finished:
            scores += [self.log_weight(path) / len(path) ** chosen.length_penalty] * count
        if len(scores) < chosen.max_width or chosen.early_stopping is True:
            return len(scores) >= chosen.max_width
        is_long = chosen.early_stopping == "never" and chosen.length_penalty > 0
        better = {
            self.log_weight(path) / (chosen.max_new_tokens if is_long else len(path)) ** chosen.length_penalty
            for path, _ in alive
        }
        return sum(score >= max(better, default=-math.inf) for score in scores) >= chosen.max_width


def acceptance_chain(target: list[float], draft: list[float], drafts: int) -> list[float]:
    """Acceptance probability of the next draft after 0, 1, ... rejections in a row: sum of min(P', Q)."""
    chain, current = [], list(target)
    for _ in range(drafts):
        if math.fsum(current) == 0:
            chain.append(1.0)
            continue
        chain.append(math.fsum(min(p, q) for p, q in zip(current, draft, strict=True)))
        left = [max(p - q, 0.0) for p, q in zip(current, draft, strict=True)]
        current = [mass / (math.fsum(left) or 1.0) for mass in left]  # norm(max(P' - Q, 0)), or nothing
    return chain


def accepted_counts(chain: list[float]) -> list[float]:
    """Return the distribution of the number of accepted drafts, by walking every string of verdicts."""
    counts = [0.0] * (len(chain) + 1)
    for verdicts in product((True, False), repeat=len(chain)):
        probability, rejections = 1.0, 0
        for accepted in verdicts:
            probability *= chain[rejections] if accepted else 1 - chain[rejections]
            rejections = 0 if accepted else rejections + 1
        counts[sum(verdicts)] += probability
    return counts


def width_of(distribution: list[tuple[Path, float]], draft_distribution: list[tuple[Path, float]], settings) -> int:
    """The chosen width of a layer, from the distributions and the settings alone."""
    drafts = settings.draft_width if settings.replacement else min(settings.draft_width, len(draft_distribution))
    draft = dict(draft_distribution)
    chain = acceptance_chain([p for _, p in distribution], [draft.get(path, 0.0) for path, _ in distribution], drafts)
    counts = accepted_counts(chain)
    least = settings.width_threshold - 1e-13
    likely = max(K for K in range(drafts + 1) if K == 0 or math.fsum(counts[K:]) >= least)
    width = min(max(likely, settings.min_width), settings.max_width)
    return width if settings.replacement else min(width, len(distribution))


FULL = 2**32 - 1
KNOWN_ANSWERS = [
    ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([FULL] * 4, FULL << 32 | FULL, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        0x299F31D0 << 32 | 0xA4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
"""Of Philox4x32-10, as published with Random123: counter, key and words."""


def philox(key: int, counter: Sequence[int]) -> list[int]:
    """Philox4x32-10 as its paper has it: a key of 64 bits and a counter of four words give four random words."""
    words = list(counter)
    for number in range(10):
        low, high = (key + number * 0x9E3779B9) % 2**32, ((key >> 32) + number * 0xBB67AE85) % 2**32
        left, right = divmod(words[0] * 0xD2511F53, 2**32), divmod(words[2] * 0xCD9E8D57, 2**32)
        words = [right[0] ^ words[1] ^ low, right[1], left[0] ^ words[3] ^ high, left[1]]
    return words


@lru_cache(None)
def hash_of(seed: int, prompt: Path, path: Path) -> tuple[int, int]:
    """The two words that stand for a path behind a prompt."""
    if path:
        return tuple(philox(seed, [*hash_of(seed, prompt, path[:-1]), path[-1], 2**31])[:2])
    words = [philox(seed, [number, 0, token, 2**31 + 1]) for number, token in enumerate(prompt)]
    return reduce(xor, (word[0] for word in words), 0), reduce(xor, (word[1] for word in words), 0)


def gumbel(seed: int, prompt: Path, path: Path, draw: int) -> float:
    """The noise of a path in one of the draws of its layer."""
    words = philox(seed, [*hash_of(seed, prompt, path[:-1]), path[-1], draw // 2])
    high, low = words[2 * (draw % 2) :][:2]
    return -math.log(-math.log(((high >> 6) * 2**26 + (low >> 6) + 0.5) / 2**52))


def coupled_draws(
    distribution: list[tuple[Path, float]], width: int, warp: Warp, seed: int, prompt: Path
) -> list[Path]:
    """The ``width`` draws of a layer in their order: those with the largest score + noise."""
    if warp.temperature == 0:
        return [path for path, _ in distribution * (width if warp.replacement else 1)][:width]

    def value(entry: tuple[Path, float], draw: int) -> float:
        return math.log(entry[1]) + gumbel(seed, prompt, entry[0], draw)

    if warp.replacement:
        return [max(distribution, key=lambda entry, draw=draw: value(entry, draw))[0] for draw in range(width)]
    return [path for path, _ in sorted(distribution, key=lambda entry: -value(entry, 0))[:width]]


def p_value(outcomes: list, distribution: dict) -> float:
    """Return that of a chi-square test of outcomes; those expected fewer than five times share one bin."""
    counts = Counter(outcomes)
    assert not counts.keys() - distribution.keys(), "an outcome that the distribution does not have"
    bins = [(counts[key], mass * len(outcomes)) for key, mass in distribution.items() if mass * len(outcomes) >= 5]
    assert len(bins) >= 8, "too few outcomes to tell distributions apart"
    rest = math.fsum(mass for mass in distribution.values() if mass * len(outcomes) < 5) * len(outcomes)
    if rest > 0:
        bins.append((len(outcomes) - sum(count for count, _ in bins), rest))
    return float(stats.chisquare(*zip(*bins, strict=True)).pvalue)


def total_variation(left: dict, right: dict) -> float:
    keys = left.keys() | right.keys()
    return 0.5 * math.fsum(abs(left.get(key, 0.0) - right.get(key, 0.0)) for key in keys)
