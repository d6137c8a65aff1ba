"""The lane of one decode: when it drafted, scored and verified, and when tokens became final."""

import codecs
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

from dsbd.api import decode
from dsbd.evaluation.race_records import Landing, Lane, Phase, Stretch
from dsbd.measure.bench.contenders import OPPONENTS, Contender
from dsbd.measure.bench.run import timed
from dsbd.models.pair import Pair
from dsbd.results import ITERATION_PHASES
from dsbd.tracing.records import Node, path_to
from dsbd.tracing.trace import Trace


def run_lane(pair: Pair, contender: Contender, prompt: str, seed: int, stop: Callable[[], bool] | None = None) -> Lane:
    """Decode once for the lane: our decoders are recorded; of an opponent only the beginning and the end are known."""
    if contender.method in OPPONENTS:
        return _without_phases(pair, contender, prompt, seed)
    result = decode(pair, prompt, replace(contender.settings, seed=seed), record=True, stop=stop)
    assert result.trace is not None, "the decode is recorded"
    return lane_of(result.trace)


def lane_of(trace: Trace) -> Lane:
    """Return the lane of a recorded decode.

    An iteration's layers become final together, at the end of its commit. While a decode goes on, several beams may be
    alive: the text of a landing is that of the hypothesis returned in the end.
    """
    assert trace.result is not None, "the decode came to its end"
    texts = _texts(path_to(trace.result.beams[0].node, trace.node_index()))
    now = float(trace.result.stats["prefill_seconds"])
    stretches, landings, first = [Stretch("prefill", 0.0, now)], [], 0
    for iteration in trace.iterations:
        for phase in ITERATION_PHASES:
            seconds = getattr(iteration.phases, f"{phase}_seconds")
            stretches.append(Stretch(cast(Phase, phase), now, now + seconds))
            now += seconds
        last = first + len(iteration.layers)
        landings.append(Landing(now, last - first, "".join(texts[first:last])))
        first = last
    return Lane(tuple(one for one in stretches if one.end > one.start), tuple(landings), trace.seed)


def _texts(path: Iterable[Node]) -> list[str]:
    """Return what each token adds to the text: a character split over tokens comes with the last of them."""
    reader = codecs.getincrementaldecoder("utf-8")(errors="replace")
    nodes = list(path)
    return [reader.decode(_own_bytes(node), final=node is nodes[-1]) for node in nodes]


def _own_bytes(node: Node) -> bytes:
    if node.ends:
        return b""
    return bytes.fromhex(node.bytes) if node.bytes else node.text.encode(errors="replace")


def _without_phases(pair: Pair, contender: Contender, prompt: str, seed: int) -> Lane:
    measured = timed(pair, contender, prompt, seed)
    found, seconds = measured.hypotheses, measured.seconds
    prefill = min(measured.prefill_seconds, seconds)
    stretches = (Stretch("prefill", 0.0, prefill), Stretch("forward", prefill, seconds))
    return Lane(stretches, (Landing(seconds, found.layers, pair.decode(found.token_ids[0])),), seed)
