"""Reads the bytes of a trace file, and refuses what is too large before it is built, and what contradicts itself.

Whatever draws a trace can rely on it: every node that is named exists, parents come before their children and one layer
above them, and lists fit each other. The audit checks whether the decisions *follow*.
"""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dsbd.errors import TraceError
from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import ROOT, Draw, IterationRecord, Layer, MemoryRecord, Prompt, Result, Trial
from dsbd.util import object_of, read_file

GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 2**28
"""Of the JSON text. The largest trace that is expected, 512 iterations with draft_depth 8, draft_width 32 and
cover_width 32, has a third of them."""
LARGEST = 1e300
"""Absolute value of a number, so that sums of recorded numbers stay finite."""


def read_trace_file(path: str | Path) -> bytes:
    """Return the content of a file. Raises: TraceError: it cannot be read, or is too large."""
    try:
        return read_file(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot read trace {str(path)[:200]!r}: {reason}; name a trace file") from None


def parse(content: bytes) -> Any:
    """Return plain data from JSON or gzip. Raises: TraceError: it is neither, or too large to be built."""
    try:
        if content[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise TraceError(f"the trace has more than {MOST_BYTES:,} bytes; record a smaller one")
        return json.loads(
            content.decode("utf-8-sig"),
            parse_int=_number(int),
            parse_float=_number(float),
            parse_constant=_number(float),
            object_pairs_hook=object_of,
        )
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise TraceError(f"damaged trace: not readable as JSON or gzip ({error}); record it again") from None


def _number(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Return what reads a number, and refuses one that no trace has."""

    def read(text: str) -> float:
        value = kind(text)
        if not abs(value) <= LARGEST:
            _damaged(f"number {text[:60]} is no number of JSON, or larger than {LARGEST:g}")
        return value

    return read


WEIGHTS_ROUNDING = 1e-3


def check_consistency(
    settings: ResolvedSettings, prompt: Prompt, iterations: Sequence[IterationRecord], result: Result | None
) -> None:
    """Raises: TraceError, which names the first place that contradicts another."""
    known, branching = {ROOT}, settings.branching
    if prompt.memory is not None:
        _check_memory(prompt.memory, len(prompt.pieces))
    for iteration in iterations:
        where = f"iteration {iteration.index + 1}"
        if branching is not None and iteration.draft_depth > len(branching):
            _damaged(f"{where} drafts {iteration.draft_depth} layers, but branching has {len(branching)}")
        _check_iteration(iteration, where, known)
    if result is not None:
        _require(known, (beam.node for beam in result.beams), "the result")


def _check_memory(memory: MemoryRecord, pieces: int) -> None:
    """Refuse a memory whose numbers contradict each other."""
    for number, segment in enumerate(memory.segments):
        if segment.tokens < 1 or not 0 <= segment.first_memory <= segment.first_memory + len(segment.weights) <= number:
            _damaged(f"segment {number + 1} of the prompt is empty, or recalls what comes later")
        if segment.weights and abs(sum(segment.weights) - 1) > WEIGHTS_ROUNDING:
            _damaged(f"the weights of segment {number + 1} of the prompt do not add up to 1")
    last = memory.segments[-1].tokens if memory.segments else 0
    if len(memory.segments) < 2 or memory.sensory < 0 or memory.sensory + last != pieces:
        _damaged(
            f"{memory.sensory} sensory tokens and a last segment of {last} tokens are not the {pieces} tokens of the "
            "prompt"
        )


def _check_iteration(iteration: IterationRecord, where: str, known: set[int]) -> None:
    """Refuse nodes, trials, draws and layers that do not fit each other; add the nodes to the known ones."""
    _require(known, (beam.node for beam in iteration.input_beams), where)
    depth, drawn = {beam.node: 0 for beam in iteration.input_beams}, {draw.node for draw in iteration.draws}
    for node in iteration.nodes:
        if node.id in known:
            _damaged(f"{where}: node {node.id} is listed twice")
        if node.parent not in depth:
            _damaged(f"{where}: node {node.id} has parent {node.parent}, which is no node or input beam before it")
        depth[node.id] = depth[node.parent] + 1
        if node.layer != depth[node.id]:
            _damaged(f"{where}: node {node.id} names layer {node.layer}, but its parent is in {depth[node.parent]}")
        if node.kind == "drawn" and node.id not in drawn:
            _damaged(f"{where}: node {node.id} is a drawn node, but no draw names it")
        known.add(node.id)
    items: list[Trial | Draw] = [*iteration.trials, *iteration.draws]
    for item in items:
        if depth.get(item.node) != item.layer:
            _damaged(f"{where}: a trial or draw of layer {item.layer} names node {item.node}, which is not in it")
        joint = isinstance(item, Trial) and item.joint
        if item.layer > len(iteration.layers) and not joint:
            _damaged(f"{where}: a trial or draw names layer {item.layer} of {len(iteration.layers)}")
        if isinstance(item, Trial) and item.verdict == "carried" and (not joint or item.acceptance is None):
            _damaged(f"{where}: the trial of node {item.node} carries it, but is no joint test")
    for number, layer in enumerate(iteration.layers, 1):
        _check_layer(layer, number, f"{where}, layer {number}", known)
        for beam in layer.alive:
            if depth.get(beam) != number - 1:
                _damaged(f"{where}, layer {number}: beam {beam} is alive, but is not of the layer above")
    _require(known, [*(beam.node for beam in iteration.output_beams), *iteration.kept.nodes], where)


def _check_layer(layer: Layer, number: int, where: str, known: set[int]) -> None:
    if layer.layer != number:
        _damaged(f"{where} is called layer {layer.layer}")
    lengths = len(layer.acceptance_chain), len(layer.chain_c), len(layer.chain_S), len(layer.accepted_distribution)
    chain = 0 if layer.kind == "bonus" and not layer.draws_planned else layer.draws_planned + 1
    if lengths != (layer.draws_planned, chain, chain, chain):
        _damaged(
            f"{where}: draws_planned is {layer.draws_planned}, but acceptance_chain, chain_c, chain_S and "
            f"accepted_distribution have {lengths} entries"
        )
    pairs = [node for pair in layer.alternatives for node in (pair.parent, pair.node) if node is not None]
    _require(known, [*layer.alive, *(beam.node for beam in layer.beams), *layer.finished, *pairs], where)


def _require(known: set[int], named: Iterable[int], where: str) -> None:
    for node in named:
        if node not in known:
            _damaged(f"{where} refers to node {node}, which does not exist")


def _damaged(what: str) -> NoReturn:
    raise TraceError(f"damaged trace: {what}; record it again")
