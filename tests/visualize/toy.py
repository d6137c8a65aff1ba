"""A toy decode on a bigram table, recorded as a true trace: small, deterministic, with every verdict in it.

The law is that of docs/algorithm.md, *One iteration*, with replacement, written for reading. Its words are chosen to be
awkward on purpose: markup, quotes, right-to-left text, a character split over two tokens, a NUL.
"""

import functools
import itertools
import math
import random
from collections import Counter, defaultdict

from dsbd.methods import resolve
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.tracing.records import (
    Alternative,
    BeamRecord,
    Draw,
    InputBeam,
    Iteration,
    KeptSlots,
    Layer,
    ModelRecord,
    Models,
    Node,
    Phases,
    Piece,
    Prompt,
    Result,
    Trial,
)
from dsbd.tracing.trace import Trace, canonical_digest

STORY = (
    "once upon a time a little fox lived in the old wood . the fox was kind . one day the fox met a little owl . "
    "the owl was sad . the fox said \"do not be sad\" . the owl said <b>hi</b> & smiled . a little bear saw the owl . "
    "the bear was kind . one day the bear and the fox met in the wood . the owl saw the old bear . 🦊 was happy . "
    "the fox found a shalom(שלום) stone . the bear said </script> . the owl and the fox were happy . END"
)  # fmt: skip
FOX = (("\ufffd", "f09f"), ("\ufffd", "a68a"))
Law = dict[tuple[int, int], float]


def _pieces() -> tuple[list[tuple[str, str | None]], list[int]]:
    """The vocabulary as (text, bytes) and the story as token ids."""
    vocabulary: dict[tuple[str, str | None], int] = {("\x00", None): 0}
    ids = []
    for word in STORY.split():
        parts: list[tuple[str, str | None]] = [(word if word == "." else " " + word, None)]
        if word == "🦊":
            parts = [(" ", None), *FOX]
        for part in parts:
            ids.append(vocabulary.setdefault(part, len(vocabulary)))
    return list(vocabulary), ids


VOCABULARY, STORY_IDS = _pieces()
END = len(VOCABULARY) - 1
FOLLOWERS: dict[int, Counter[int]] = defaultdict(Counter)
for _left, _right in itertools.pairwise(STORY_IDS):
    FOLLOWERS[_left][_right] += 1
UNIGRAM = Counter(STORY_IDS)


def probabilities(last: int, smoothing: float) -> list[float]:
    """The bigram law mixed with the unigram law; the draft model smooths more than the target."""
    total = sum(FOLLOWERS[last].values()) or 1
    return [
        (1 - smoothing) * FOLLOWERS[last][token] / total + smoothing * (UNIGRAM[token] + 0.1) / (len(STORY_IDS) + 4)
        for token in range(len(VOCABULARY))
    ]


class ToyDecode:
    """One decode; ``trace`` runs it."""

    def __init__(self, settings: ResolvedSettings, prompt: str = " once upon a") -> None:
        self.settings = settings
        self.random = random.Random(settings.seed)
        self.prompt = [VOCABULARY.index((" " + word, None)) for word in prompt.split()]
        self.nodes: dict[int, Node] = {}
        self.ids: dict[tuple[int, int], int] = {}
        self.finished: list[InputBeam] = []

    def last(self, node: int) -> int:
        return self.nodes[node].token_id if node else self.prompt[-1]

    def depth(self, node: int) -> int:
        return 1 + self.depth(self.nodes[node].parent) if node else 0

    def law(self, beams: list[InputBeam], smoothing: float) -> Law:
        """The joint law over (beam, token), multiplicities counted after the division by the temperature."""
        mass = {}
        for beam in beams:
            for token, probability in enumerate(probabilities(self.last(beam.node), smoothing)):
                scaled = (beam.log_weight + math.log(probability)) / self.settings.temperature
                mass[beam.node, token] = beam.multiplicity * math.exp(scaled)
        kept = sorted(mass, key=lambda pair: -mass[pair])[: self.settings.top_k or None]
        total = sum(mass[pair] for pair in kept)
        return {pair: mass[pair] / total for pair in sorted(kept)}

    def draw(self, law: Law) -> tuple[tuple[int, int], float, float, float]:
        """A pair by inverse CDF: the pair, the uniform, and the interval it fell in."""
        uniform, low = self.random.random(), 0.0
        for pair, probability in law.items():
            if low <= uniform < low + probability:
                return pair, uniform, low, low + probability
            low += probability
        pair = list(law)[-1]
        return pair, uniform, low - law[pair], 1.0

    def node(self, pair: tuple[int, int], layer: int, kind: str, new: dict[int, Node]) -> int:
        if pair not in self.ids:
            parent, token = pair
            number = self.ids[pair] = len(self.nodes) + 1
            text, raw = VOCABULARY[token]
            last = self.last(parent)
            draft_log_prob = None if kind == "drawn" else math.log(probabilities(last, 0.5)[token])
            target_log_prob = math.log(probabilities(last, 0.1)[token])
            self.nodes[number] = new[number] = Node(
                number, parent, layer, token, text, kind, token == END, target_log_prob, draft_log_prob, None, None, raw
            )  # fmt: skip
        return self.ids[pair]

    def extend(self, node: int, weights: dict[int, float], smoothing: float) -> float:
        entry = self.nodes[node]
        return weights[entry.parent] + math.log(probabilities(self.last(entry.parent), smoothing)[entry.token_id])

    def beams(self, nodes: list[int], weights: dict[int, float], smoothing: float) -> list[InputBeam]:
        return [InputBeam(node, count, self.extend(node, weights, smoothing)) for node, count in Counter(nodes).items()]

    def draft(self, beams: list[InputBeam], depth: int, new: dict[int, Node]) -> tuple[list[Law], list[list[int]]]:
        """The forest: per layer its law Q and the drafts in the order they were drawn."""
        laws, drafts, frontier = [], [], beams
        for layer in range(1, depth + 1):
            law = self.law(frontier, 0.5) if frontier else {}
            drawn = [self.draw(law)[0] for _ in range(self.settings.draft_width)] if law else []
            laws.append(law)
            drafts.append([self.node(pair, layer, "drafted", new) for pair in drawn])
            covered = [pair for pair in sorted(law, key=lambda pair: -law[pair]) if pair not in self.ids]
            for pair in covered[: self.settings.cover_width]:
                self.node(pair, layer, "cover", new)
            alive = [node for node in drafts[-1] if not self.nodes[node].ends]
            frontier = self.beams(alive, {beam.node: beam.log_weight for beam in frontier}, 0.5)
        return laws, drafts

    def iterate(self, index: int, beams: list[InputBeam], depth: int) -> Iteration:
        """Draft, verify layer by layer, commit."""
        new: dict[int, Node] = {}
        self.ids = {}
        laws, drafts = self.draft(beams, depth, new)
        given, forest = beams, set(new)
        layers: list[Layer] = []
        trials: list[Trial] = []
        draws: list[Draw] = []
        for layer in range(1, depth + 2):
            bonus = layer > depth or not any(pair[0] in {beam.node for beam in beams} for pair in laws[layer - 1])
            q, drafted = ({}, []) if bonus else (laws[layer - 1], drafts[layer - 1])
            layers.append(self.verify(layer, bonus, beams, q, drafted, new, forest, trials, draws))
            beams = [beam for beam in layers[-1].beams if not self.nodes[beam.node].ends]
            self.finished += [beam for beam in layers[-1].beams if self.nodes[beam.node].ends]
            if layers[-1].outcome not in ("passed", "landed"):
                break
        kept = KeptSlots(len(self.prompt), len(self.prompt) + len(new), len(self.prompt) + len(beams), [])
        phases = Phases(0.012 + 0.001 * index, 0.021, 0.002, 0.001)
        return Iteration(index, given, depth, list(new.values()), layers, trials, draws, beams, kept, phases)

    def verify(self, layer, bonus, alive, q, drafted, new, forest, trials, draws) -> Layer:
        """One layer: the width, the trials, the draws."""
        p = self.law(alive, 0.1)
        for node in [entry for entry in new.values() if entry.layer == layer]:
            pair = (node.parent, node.token_id)
            filled = {**vars(node), "target_prob": p.get(pair, 0.0), "draft_prob": q.get(pair, 0.0)}
            new[node.id] = self.nodes[node.id] = Node(**{k: v for k, v in filled.items() if not k.startswith("__")})
        mass = functools.partial(_residual_mass, p, q)
        planned = 0 if bonus else self.settings.draft_width
        chain_c, chain_s = ([], []) if bonus else ([0.0], [1.0])
        for _ in range(planned):
            chain_c.append(chain_c[-1] + chain_s[-1])
            chain_s.append(mass(chain_c[-1]))
        alphas = [1 - (after / before if before else 1.0) for before, after in itertools.pairwise(chain_s)]
        distribution = [] if bonus else _accepted(alphas)
        width = self.settings.max_width if bonus else _width(distribution, self.settings)
        beams, c, s = self.tried(layer, width, alive, p, q, drafted, trials)
        accepted = len(beams)
        while len(beams) < width:
            first = len(beams) == accepted and c > 0 and not bonus
            law = {pair: max(p[pair] - c * q.get(pair, 0.0), 0.0) / s for pair in p} if first else p
            pair, uniform, low, high = self.draw(law)
            node = self.node(pair, layer, "drawn", new)
            kind = "recovered" if first else "bonus" if bonus else "fresh"
            at = (c, s) if first else (0.0, 1.0)
            beams.append(node)
            draws.append(Draw(layer, len(beams) - accepted - 1, kind, node, node in forest, p[pair], q.get(pair, 0.0),
                              *at, uniform, low, high))  # fmt: skip
        outcome = self.outcome(beams, accepted, bonus, forest)
        yielded = self.beams(beams, {beam.node: beam.log_weight for beam in alive}, 0.1)
        best = sorted(p, key=lambda pair: -p[pair])[:5]
        return Layer(layer, "bonus" if bonus else "draft", [beam.node for beam in alive], planned, chain_c, chain_s,
                     alphas, distribution, len(p), width, "", accepted, outcome, yielded,
                     [node for node in set(beams) if self.nodes[node].ends],
                     [Alternative(*pair, VOCABULARY[pair[1]][0], p[pair], q.get(pair, 0.0), self.ids.get(pair))
                      for pair in best])  # fmt: skip

    def tried(self, layer, width, alive, p, q, drafted, trials) -> tuple[list[int], float, float]:
        """The trials of a layer: the accepted beams, and c and S after the last trial."""
        mass = functools.partial(_residual_mass, p, q)
        c, s, beams = 0.0, 1.0, []
        for order, node in enumerate(drafted):
            entry = self.nodes[node]
            pair, at = (entry.parent, entry.token_id), q[entry.parent, entry.token_id]
            if len(beams) == width:
                trials.append(Trial(layer, order, node, "unneeded", "", at, None, None, None, None, None))
                continue
            if entry.parent not in {beam.node for beam in alive}:
                trials.append(Trial(layer, order, node, "orphaned", "", at, None, c, s, None, None))
                c, s = c + s, mass(c + s)
                continue
            residual = max(p.get(pair, 0.0) - c * at, 0.0) / s
            chance, uniform = min(1.0, residual / at), self.random.random()
            verdict = "accepted" if uniform < chance else "rejected"
            trials.append(Trial(layer, order, node, verdict, "", at, residual, c, s, chance, uniform))
            beams += [node] * (verdict == "accepted")
            c, s = (0.0, 1.0) if verdict == "accepted" else (c + s, mass(c + s))
        return beams, c, s

    def outcome(self, beams: list[int], accepted: int, bonus: bool, forest: set[int]) -> str:
        if all(self.nodes[node].ends for node in beams):
            return "finished"
        if bonus or accepted == len(beams):
            return "bonus" if bonus else "passed"
        landed = all(node in forest or self.nodes[node].ends for node in beams[accepted:])
        return "landed" if landed and self.settings.landing else "short"

    def trace(self) -> Trace:
        beams, iterations = [InputBeam(0, 1, 0.0)], []
        while beams and self.depth(beams[0].node) < self.settings.max_new_tokens:
            left = self.settings.max_new_tokens - self.depth(beams[0].node)
            iterations.append(self.iterate(len(iterations), beams, min(self.settings.draft_depth, left - 1)))
            beams = iterations[-1].output_beams
        model = ModelRecord("toy-target", None, "float64", "cpu", len(VOCABULARY), "forest")
        draft = ModelRecord("toy-draft", None, "float64", "cpu", len(VOCABULARY), "forest")
        pieces = [Piece(token, *VOCABULARY[token]) for token in self.prompt]
        prompt = Prompt("".join(piece.text for piece in pieces), pieces)
        ranked = sorted((self.record(beam) for beam in self.finished + beams), key=lambda beam: -beam.score)
        result = Result(ranked[0].text, ranked[0].token_ids, ranked, {"seconds": 0.5, "tokens_per_second": 48.0})
        fields = ("dsbd-trace/1", {"dsbd": "toy"}, Models(model, draft), self.settings, self.settings.seed)
        plain = Trace(*fields, prompt, iterations, result)
        return Trace(*fields, prompt, iterations, result, canonical_digest(plain))

    def record(self, beam: InputBeam) -> BeamRecord:
        path, node = [], beam.node
        while node:
            path.append(self.nodes[node].token_id)
            node = self.nodes[node].parent
        ids = path[::-1]
        raw = b"".join(bytes.fromhex(VOCABULARY[t][1] or "") or VOCABULARY[t][0].encode() for t in ids if t != END)
        score = beam.log_weight / len(ids)
        return BeamRecord(beam.node, raw.decode("utf-8", "replace"), ids, beam.log_weight, score, ids[-1] == END)


def _residual_mass(p: Law, q: Law, c: float) -> float:
    """S(c)."""
    return sum(max(p[pair] - c * q.get(pair, 0.0), 0.0) for pair in p)


def _accepted(alphas: list[float]) -> list[float]:
    """P(m, k) by its recursion over the first acceptance."""
    table = [[1.0] + [0.0] * len(alphas)]
    for m in range(1, len(alphas) + 1):
        row, missed = [0.0] * (len(alphas) + 1), 1.0
        for i in range(m):
            for k in range(m):
                row[k + 1] += missed * alphas[i] * table[m - i - 1][k]
            missed *= 1 - alphas[i]
        row[0] = missed
        table.append(row)
    return table[-1]


def _width(distribution: list[float], settings: ResolvedSettings) -> int:
    reaching = [k for k in range(1, len(distribution)) if sum(distribution[k:]) >= settings.width_threshold]
    return min(max(settings.min_width, max(reaching, default=0)), settings.max_width)


def toy_trace(**changes) -> Trace:
    """The toy decode, recorded. Settings may be changed by name."""
    settings = {"max_new_tokens": 24, "draft_depth": 3, "draft_width": 5, "min_width": 2, "cover_width": 2, "seed": 3}
    return ToyDecode(resolve(DecodingSettings(**{**settings, "top_k": 20, **changes}))).trace()
