"""Checks of a trace, and the laws of its iterations: which numbers its nodes hold, Q in its forest, P in its layers.

Each check is counted, and the first that fails ends the audit. Within a layer the ratio of two probabilities follows
from the log-weights, the multiplicities and the temperature alone, because normalising divides both by one number.

*Source:* docs/algorithm.md, *The joint law* and *SpecInfer's tree*.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import ALTERNATIVES, ROOT, InputBeam, Iteration, Layer, Node
from dsbd.tracing.trace import Trace

TOLERANCE = 1e-9
"""Allowed difference between a recorded number and the one computed again; rounding stays below 1e-12."""
LOOSEST = 0.1
"""The most that a single check may allow for rounding."""


class BrokenError(Exception):
    """A check failed; the message says which."""


class Checks:
    """The checks of one trace: how many were made, where the audit is, and what every part of it reads.

    Each check raises :class:`BrokenError` if it fails.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self.settings = trace, trace.settings
        self.count, self.place = 0, "trace"
        self.nodes = trace.node_index()
        self.log_weights: dict[int, float] = {ROOT: 0.0}
        """Of the nodes so far, by id; minus infinity for impossible ones."""
        self.vocabulary = trace.models.target.vocabulary_size
        self.is_likely = trace.settings.forest == "likely"
        self.is_greedy = trace.settings.temperature == 0 and not trace.settings.replacement
        """True where a layer's likeliest pairs are taken in order, each with certainty."""

    def same(self, what: str, recorded: object, expected: object) -> None:
        """Check that two values are equal."""
        self.count += 1
        if recorded != expected:
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def close(self, what: str, recorded: float | None, expected: float, allowed: float = 0.0) -> None:
        """Check that two numbers are finite, and equal up to rounding, or up to ``allowed`` if that is more."""
        self.count += 1
        if recorded is None or _exceeds(recorded, expected, allowed) or _exceeds(-recorded, -expected, allowed):
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def at_most(self, what: str, recorded: float | None, limit: float, allowed: float = 0.0) -> None:
        """Check that two numbers are finite and the first is at most the second, up to rounding or ``allowed``."""
        self.count += 1
        if recorded is None or _exceeds(recorded, limit, allowed):
            self.broken(f"{what} is {_short(recorded)}, but at most {_short(limit)} follows")

    def uniform(self, what: str, recorded: float | None) -> float:
        """Check that a random number is there, from 0 to below 1, and return it."""
        self.count += 1
        if recorded is None or not 0.0 <= recorded < 1.0:
            self.broken(f"uniform, {what}, is {_short(recorded)}, but a number from 0 to below 1 follows")
        return recorded

    def broken(self, what: str) -> NoReturn:
        """Raise what does not follow."""
        raise BrokenError(f"{self.place}: {what}")


def _exceeds(recorded: float, limit: float, allowed: float) -> bool:
    """True where a number is larger than a limit, beyond rounding; what is not finite exceeds every limit."""
    if not (math.isfinite(recorded) and math.isfinite(limit)):
        return True
    return recorded - limit > max(min(allowed, LOOSEST), TOLERANCE * max(1.0, abs(limit)))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


ROUNDING = 1e-12
"""Of a score of the target, in double precision, relative to the largest score of its layer."""
SINGLE = 1e-6
"""The same of the draft model, whose scores may be added up in single precision."""
SUMMED = 1e-4
"""What single precision may add to a sum of probabilities, or to a log-probability."""
SCALE_ROUNDING = 1e-2
"""Of the logarithm of a probability, where only its size is checked."""
SHARPEST = 1e30
"""Largest 1 / temperature that scores are compared at; the draft model's are not made with a larger one."""
LEAST = 1e-290
"""Smaller probabilities have lost digits."""
LARGEST_GAP = 660.0
"""Between the scores of the likeliest pair and of one whose probability is above the least."""


class ScoredPair(NamedTuple):
    """One pair of a joint law."""

    name: str
    probability: float
    score: float
    """(log-weight / temperature) plus the logarithm of its beam's multiplicity."""


def drafts_asked(settings: ResolvedSettings, layer: int) -> int:
    """Draws from one draft law of a layer: those of the whole layer, or of one parent."""
    if settings.branching is None:
        return settings.draft_width
    return settings.branching[layer - 1] if layer <= len(settings.branching) else 0


def check_numbers(checks: Checks, iteration: Iteration) -> None:
    """Check which numbers the nodes hold, and their sums: this follows from the settings and the layers alone."""
    settings, layers, families = checks.settings, iteration.layers, defaultdict[int, list[Node]](list)
    named = {trial.node for trial in iteration.trials} | {draw.node for draw in iteration.draws}
    taken = {beam.node for layer in layers for beam in layer.beams}
    for node in iteration.nodes:
        of_forest, name, possible = node.kind != "drawn", f"node {node.id}", node.target_log_prob is not None
        is_reached = node.layer <= len(layers)
        if is_reached and settings.branching is not None:
            is_reached = node.parent in layers[node.layer - 1].alive
        held = node.draft_log_prob is not None, node.draft_prob is not None, node.target_prob is not None
        expected = of_forest, of_forest, is_reached
        checks.same(f"presence of draft_log_prob, draft_prob, target_prob of {name}", held, expected)
        if not settings.lossless and node.id not in named:  # the target scores the best beam only
            checks.same(f"target_log_prob of {name} is a number", possible, False)
        elif (node.target_prob or 0.0) > 0 or node.id in taken:
            checks.same(f"target_log_prob of {name} is a number", possible, True)
        if settings.temperature > 0 and (node.kind == "drafted" or (of_forest and checks.is_likely)):
            checks.same(f"{name} could be drafted", (node.draft_prob or 0.0) > 0, True)
        families[node.parent].append(node)
    for parent, family in families.items():
        checks.same(f"tokens below node {parent} differ", len({node.token_id for node in family}), len(family))
        for name in ("target_log_prob", "draft_log_prob"):
            numbers = [getattr(node, name) for node in family if getattr(node, name) is not None]
            checks.at_most(f"{name} below node {parent}", max(numbers, default=0.0), 0.0, SUMMED)
            mass = math.fsum(math.exp(min(number, 0.0)) for number in numbers)
            checks.at_most(f"sum of exp({name}) below node {parent}", mass, 1.0, SUMMED)


def check_forest(checks: Checks, iteration: Iteration) -> None:
    """Check Q in the layers of a forest: how many nodes each of its laws has, in which order, and their ratios."""
    settings, tried = checks.settings, defaultdict[int, list[int]](list)
    for trial in iteration.trials:
        tried[trial.layer].append(trial.node)
    sources = {beam.node: beam.log_weight for beam in iteration.input_beams}
    slots = {beam.node: beam.multiplicity for beam in iteration.input_beams}
    is_tree = settings.branching is not None
    is_sure = checks.is_likely or not settings.replacement or settings.temperature == 0
    for number in range(1, max([iteration.draft_depth, *(node.layer for node in iteration.nodes)]) + 1):
        nodes = [node for node in iteration.nodes if node.layer == number and node.kind != "drawn"]
        below = [node for node in nodes if node.parent in sources]
        log_probs = {node.id: node.draft_log_prob or 0.0 for node in below}
        if is_tree:
            checks.same(f"parents of layer {number}", len(below), len(nodes))
            families = [(parent, [node for node in below if node.parent == parent]) for parent in sorted(sources)]
            for parent, family in families:
                _check_drafts(checks, iteration, number, family, f"below node {parent}", tried.get(number, []))
                _check_draft_ratios(checks, number, family, log_probs, {})
            sources = {node.id: 0.0 for node in nodes if not node.ends}
            continue
        weights = {node.id: sources[node.parent] + log_probs[node.id] for node in below}
        _check_drafts(checks, iteration, number, nodes, f"in layer {number}", tried.get(number, []))
        if number == 1 or is_sure or (settings.lossless and number - 1 in tried):
            _check_draft_ratios(checks, number, below, weights, slots)
        kind = "cover" if checks.is_likely else "drafted"
        sources = {node.id: weights[node.id] for node in below if node.kind == kind and not node.ends}
        slots = Counter(tried.get(number, [])) if settings.replacement and not checks.is_likely else {}


def _check_drafts(
    checks: Checks, iteration: Iteration, number: int, nodes: Sequence[Node], where: str, tried: Sequence[int]
) -> None:
    """Check the nodes of one draft law: no more than asked for, and fewer without replacement only if Q has no more."""
    settings, drafted = checks.settings, [node for node in nodes if node.kind == "drafted"]
    asked = drafts_asked(settings, number) if number <= iteration.draft_depth else 0
    covers = asked if checks.is_likely else settings.cover_width * (settings.branching is None)
    checks.at_most(f"drafts {where}", len(drafted), 0 if checks.is_likely else asked)
    checks.at_most(f"cover nodes {where}", len(nodes) - len(drafted), covers if asked else 0)
    if settings.lossless and any(node.id in tried for node in nodes):
        checks.same(f"nodes tried {where}", [*dict.fromkeys(tried)], [node.id for node in drafted])
    drawn = nodes if checks.is_likely else drafted
    is_distinct = checks.is_likely or not settings.replacement
    if settings.temperature > 0 and is_distinct and 0 < len(drawn) < asked and SHARPEST * settings.temperature > 1:
        checks.close(f"sum of all Q {where}", math.fsum(node.draft_prob or 0.0 for node in drawn), 1.0, SINGLE)


def _check_draft_ratios(
    checks: Checks, number: int, nodes: Sequence[Node], weights: Mapping[int, float], slots: Mapping[int, int]
) -> None:
    """Check the ratios of one draft law; at temperature 0 its best pair is the first, and has all of Q."""
    if checks.settings.temperature == 0:
        held = [node.draft_prob for node in nodes]
        checks.same(f"Q in layer {number}", held, [1.0, 0.0][: len(nodes)] + [0.0] * (len(nodes) - 2))
        allowed = SINGLE * max([1.0, *(abs(weights[node.id]) for node in nodes)])
        for better, worse in pairwise(nodes):
            checks.at_most(f"draft's log-weight of node {worse.id}", weights[worse.id], weights[better.id], allowed)
        return
    scale = _sharpness(checks.settings)
    pairs = [
        ScoredPair(
            f"node {node.id}",
            node.draft_prob or 0.0,
            weights[node.id] * scale + math.log(slots.get(node.parent, 1)),
        )
        for node in nodes
    ]
    checks.at_most(f"sum of Q in layer {number}", math.fsum(pair.probability for pair in pairs), 1.0)
    _check_ratios(checks, "Q", pairs, SINGLE)


def check_target(checks: Checks, iteration: Iteration, layer: Layer, alive: Sequence[InputBeam]) -> None:
    """Check P in one layer that was reached: its support, its likeliest pairs, its ratios and its scale."""
    parents = {beam.node: beam for beam in alive}
    own = [node for node in iteration.nodes if node.layer == layer.layer]
    others = {node.target_prob for node in own if node.parent not in parents}
    checks.same("P below other beams", others <= {0.0 if checks.settings.branching is None else None}, True)
    nodes = [node for node in own if node.parent in parents]
    _check_likeliest(checks, layer, nodes, len(alive))
    if checks.settings.temperature == 0:
        _check_best(checks, iteration, layer, nodes)
    _check_scale(checks, nodes, alive)
    if checks.settings.temperature > 0:
        sharpness = _sharpness(checks.settings)
        pairs = [
            ScoredPair(
                f"node {node.id}",
                node.target_prob or 0.0,
                checks.log_weights[node.id] * sharpness + math.log(max(parents[node.parent].multiplicity, 1)),
            )
            for node in nodes
            if checks.log_weights[node.id] > -math.inf
        ]
        _check_ratios(checks, "P", pairs, ROUNDING)


def known_pairs(checks: Checks, layer: Layer, nodes: Iterable[Node]) -> dict[tuple[int, int], tuple[float, float]]:
    """P and Q of the pairs of a layer that are recorded, by parent and token; Q of a drawn node is not."""
    known = {(pair.parent, pair.token_id): (pair.target_prob, pair.draft_prob) for pair in layer.alternatives}
    for node in nodes:
        content = (node.parent, node.token_id)
        if node.parent in layer.alive and content not in known and not (node.kind == "drawn" and checks.is_greedy):
            known[content] = node.target_prob or 0.0, node.draft_prob or 0.0
    return known


def _check_likeliest(checks: Checks, layer: Layer, nodes: Sequence[Node], beams: int) -> None:
    """Check how many pairs P has, as far as the record tells, and that its likeliest ones are in order."""
    settings, support, pairs = checks.settings, layer.target_support, layer.alternatives
    most = min(settings.top_k or beams * checks.vocabulary, beams * checks.vocabulary)
    is_best = settings.temperature == 0 and settings.replacement
    checks.at_most("support of P", support, 1 if is_best else most)
    checks.at_most("1 to the support of P", 1, support)
    checks.same("parents of the likeliest pairs", {pair.parent for pair in pairs} <= set(layer.alive), True)
    order = [(-pair.target_prob, layer.alive.index(pair.parent), pair.token_id) for pair in pairs]
    checks.same("order of the likeliest pairs", order, sorted(order))
    checks.same("number of likeliest pairs", len(pairs), min(ALTERNATIVES, support))
    by_content = {(node.parent, node.token_id): node for node in nodes}
    for pair in pairs:
        node = by_content.get((pair.parent, pair.token_id))
        forest_node = node.id if node is not None and node.kind != "drawn" else None
        name = f"token {pair.token_id} below node {pair.parent}"
        checks.same(f"node of {name}", pair.node, forest_node)
        if node is not None and (forest_node is not None or not checks.is_greedy):
            checks.close(f"P of {name}", pair.target_prob, node.target_prob or 0.0)
            if layer.kind == "draft" and node.draft_prob is not None:
                checks.close(f"Q of {name}", pair.draft_prob, node.draft_prob)
        if layer.kind == "bonus":
            checks.same(f"Q of {name}", pair.draft_prob, 0.0)
    if checks.is_greedy:
        return
    known = [target for target, _ in known_pairs(checks, layer, nodes).values() if target > 0]
    least, whole = pairs[-1].target_prob, math.fsum(known)
    listed = {(pair.parent, pair.token_id) for pair in pairs}
    others = [node.target_prob or 0.0 for content, node in by_content.items() if content not in listed]
    checks.at_most("P of a node beside the likeliest", max(others, default=0.0), least)
    checks.at_most("sum of P over the known pairs", whole, 1.0)
    checks.at_most("number of known pairs of P", len(known), support)
    checks.at_most("rest of P beside the known pairs", 1.0 - whole, (support - len(known)) * least)
    if settings.temperature > 0 and settings.top_p < 1 and support == most:
        # nothing was cut, so that all pairs but the least likely are below top_p; that one has no more than a share
        unknown = support - len(known)
        share = (1.0 - whole) / unknown if unknown else 1.0
        checks.at_most("1 - top_p", 1.0 - settings.top_p, min(*known, share))


def _check_best(checks: Checks, iteration: Iteration, layer: Layer, nodes: Sequence[Node]) -> None:
    """Check that a layer took the best known pairs at temperature 0, the best one first, which has all of P."""
    taken = [beam.node for beam in layer.beams]
    draws = [draw for draw in iteration.draws if draw.layer == layer.layer]
    listed = [pair.target_prob for pair in layer.alternatives]
    checks.same("P of the likeliest pairs", listed, [1.0] + [0.0] * (len(listed) - 1))
    if not checks.settings.lossless and not draws:  # a joint test takes what the draft model finds likely
        return
    checks.same("beams are present", bool(taken), True)
    for better, worse in pairwise(taken):
        checks.at_most(f"log-weight of node {worse}", checks.log_weights[worse], checks.log_weights[better])
    for node in nodes:
        name = f"node {node.id}"
        if node.id not in taken and node.target_log_prob is not None:
            checks.at_most(f"log-weight of {name}", checks.log_weights[node.id], checks.log_weights[taken[-1]])
        certain = node.id == taken[0] or node.kind == "drawn"
        checks.close(f"P of {name}", node.target_prob, float(certain))
    for draw in draws:
        held = draw.target_prob, draw.cdf_low, draw.cdf_high
        checks.same(f"P and the interval, draw of node {draw.node}", held, (1.0, 0.0, 1.0))


def _check_scale(checks: Checks, nodes: Sequence[Node], alive: Sequence[InputBeam]) -> None:
    """Compare P of each pair with its log-weight and those of the beams: the vocabulary bounds the difference.

    The next tokens of a beam have the probability 1 together. So the sum of p**(1/T) over a vocabulary of V tokens
    lies between 1 and V**(1 - 1/T), and top-k pairs have at least their share of it. All is times T here.
    """
    settings, T, size = checks.settings, checks.settings.temperature, math.log(checks.vocabulary)
    pairs = math.log(len(alive)) + size
    share = pairs if settings.top_k == 0 else min(pairs, math.log(settings.top_k))
    loss = T * (pairs - share - math.log(settings.top_p)) + max(0.0, 1.0 - T) * size
    gain = max(0.0, T - 1.0) * size
    beams = {beam.node: beam.log_weight + T * math.log(beam.multiplicity) for beam in alive}
    most = max(beams.values())
    whole = most + T * math.log(math.fsum(math.exp((one - most) / T) for one in beams.values())) if T > 0 else most
    likeliest = max((checks.log_weights[node.id] for node in nodes), default=-math.inf)
    for node in nodes:
        weight = checks.log_weights[node.id]
        if node.kind == "drawn" and checks.is_greedy and weight < likeliest:
            continue  # certain in its turn, not by P
        if (node.target_prob or 0.0) > LEAST and weight > -math.inf:
            own = weight - checks.log_weights[node.parent] + beams[node.parent] - whole
            found, name = T * math.log(node.target_prob or 1.0), f"temperature * log P of node {node.id}"
            checks.at_most(name, found, own + loss, SCALE_ROUNDING)
            checks.at_most(f"least {name}", own - gain, found, SCALE_ROUNDING)


def _check_ratios(checks: Checks, law: str, pairs: Sequence[ScoredPair], rounding: float) -> None:
    """Probabilities have the ratios of their scores, and those that were cut off are no likelier than the others."""
    known = [pair for pair in pairs if pair.probability > LEAST]
    if known:
        best = max(known, key=lambda pair: pair.probability)
        allowed, unit = _rounded(known, rounding)
        for pair in known:
            if pair is not best:
                what = f"log {law} of {pair.name} less that of {best.name}"
                ratio = math.log(pair.probability) - math.log(best.probability)
                checks.close(what, ratio * unit, (pair.score - best.score) * unit, allowed)
    kept, lost = [pair.score for pair in known], [pair.score for pair in pairs if pair.probability <= LEAST]
    if kept and lost:
        cuts = checks.settings.top_k > 0 or checks.settings.top_p < 1  # without them only the impossible is cut
        limit = min(kept) if cuts else max(kept) - LARGEST_GAP
        allowed, unit = _rounded(pairs, rounding)
        checks.at_most(f"score of a pair without {law}", max(lost) * unit, limit * unit, allowed)


def _rounded(pairs: Iterable[ScoredPair], rounding: float) -> tuple[float, float]:
    """What rounding may do to scores, and the unit in which they are compared.

    Where it is so cold that even their whole part is rounded, the unit is so small that the rounding stays bounded.
    """
    allowed = rounding * max(1.0, *(abs(pair.score) for pair in pairs))
    unit = min(1.0, LOOSEST / allowed)
    return allowed * unit, unit


def _sharpness(settings: ResolvedSettings) -> float:
    """1 / temperature, bounded; 1 at temperature 0."""
    return min(1.0 / settings.temperature, SHARPEST) if settings.temperature > 0 else 1.0
