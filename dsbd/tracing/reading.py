"""Reads the bytes of a trace file, and refuses what is too large before it is built, and what contradicts itself.

Whatever draws a trace can rely on it: every node that is named exists, parents come before their children and one layer
above them, lists fit each other, and no list is longer than the limits allow. The audit checks whether the decisions
*follow*.
"""

import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dsbd.errors import TraceError
from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import ROOT, Draw, Iteration, Layer, Models, Prompt, Result, Trial

GZIP_MAGIC = b"\x1f\x8b"
MIB = 1024 * 1024


class Limits:
    """The most that a reader accepts.

    They leave room for the largest trace that a decode is expected to write: 512 iterations with draft_depth 8,
    draft_width 32 and cover_width 32 have 262,144 forest nodes, 4 million values and 90 MiB of JSON.
    """

    packed_bytes: int = 256 * MIB
    """Bytes of the file as it is stored."""
    unpacked_bytes: int = 256 * MIB
    """Bytes of the JSON text, after gzip."""
    values: int = 12_000_000
    """Values in the whole file: numbers, texts, lists and objects; a comma in a text counts as one."""
    fields: int = 64
    """Fields of one object."""
    magnitude: float = 1e300
    """Largest absolute value of a number, so that sums of recorded numbers stay finite."""
    text: int = 4_000_000
    """Characters of one text, such as the prompt."""
    short_text: int = 4_096
    """Characters of one token, model name or reason."""
    prompt_tokens: int = 1_000_000
    """Tokens of the prompt."""
    nodes: int = 400_000
    """Nodes of all iterations."""
    iterations: int = 32_768
    """Iterations; the largest ``max_new_tokens``, because each iteration adds at least one token."""
    hypotheses: int = 20_000
    """Beams of the result."""
    iteration_layers: int = 33
    """Layers of an iteration: the largest ``draft_depth`` and the bonus layer."""
    layer_nodes: int = 576
    """Nodes of a layer: the largest ``draft_width``, ``cover_width`` and ``max_width`` together."""
    layer_trials: int = 256
    """Trials of a layer: the largest ``draft_width``."""
    layer_draws: int = 64
    """Draws, and beams, of a layer: the largest ``max_width``."""
    slots: int = 4_000_000
    """Cache slots that an iteration names."""


def read_file(path: str | Path) -> bytes:
    """Return the content of a file. Raises: TraceError: it cannot be read, or is too large."""
    try:
        with open(path, "rb") as file:
            return _read(file, Limits.packed_bytes, "the file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot read trace {str(path)[:200]!r}: {reason}; name a trace file") from None


def parse(content: bytes) -> Any:
    """Return plain data from JSON or gzip. Raises: TraceError: it is neither, or larger than ``Limits``."""
    try:
        if content[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                content = _read(stream, Limits.unpacked_bytes, "the unpacked trace")
        elif len(content) > Limits.unpacked_bytes:
            too_large("the trace", len(content), Limits.unpacked_bytes, "bytes")
        if sum(content.count(mark) for mark in (b",", b"[", b"{")) >= Limits.values:
            too_large("the trace", None, Limits.values, "values")
        return json.loads(
            content.decode("utf-8"),
            parse_int=_number(int),
            parse_float=_number(float),
            parse_constant=_number(float),
            object_pairs_hook=_object,
        )
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise TraceError(f"damaged trace: not readable as JSON or gzip ({error}); record it again") from None


def too_large(what: str, found: int | None, limit: int, unit: str) -> NoReturn:
    """Raise a TraceError that names the limit and the remedy. ``found`` is None if counting stopped early."""
    size = f"more than {limit:,}" if found is None else f"{found:,}"
    raise TraceError(f"{what} has {size} {unit}; at most {limit:,} are read; record a smaller trace")


def _read(stream: BinaryIO | gzip.GzipFile, limit: int, what: str) -> bytes:
    parts, size = list[bytes](), 0
    while part := stream.read(MIB):
        parts.append(part)
        size += len(part)
        if size > limit:
            too_large(what, None, limit, "bytes")
    return b"".join(parts)


def _number(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Return what reads a number, and refuses one that no trace has."""

    def read(text: str) -> float:
        value = kind(text)
        if not abs(value) <= Limits.magnitude:
            raise TraceError(
                f"damaged trace: number {text[:60]} is no number of JSON, or larger than {Limits.magnitude:g}; "
                "record it again"
            )
        return value

    return read


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > Limits.fields:
        too_large("an object of the trace", len(pairs), Limits.fields, "fields")
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise TraceError(f"damaged trace: field {twice[:60]!r} stands twice in one object; record it again")
    return found


WEIGHTS_ROUNDING = 1e-3


def check_names(software: dict[str, str], models: Models) -> None:
    """Raises: TraceError where a name or a version is longer than ``Limits``."""
    known = [model for model in (models.target, models.draft) if model is not None]
    names = [str(value) for model in known for value in vars(model).values()]
    _texts_fit("the models", [*names, *software, *software.values()], Limits.short_text)


def check_sizes(prompt: Prompt, iterations: Sequence[Iteration], result: Result | None) -> None:
    """Raises: TraceError where a list, a count or a short text is larger than ``Limits``."""
    where = "the trace"
    _at_most(where, sum(len(iteration.nodes) for iteration in iterations), Limits.nodes, "nodes")
    _at_most(where, len(iterations), Limits.iterations, "iterations")
    _at_most(where, len(prompt.pieces), Limits.prompt_tokens, "tokens of the prompt")
    _at_most(where, len(result.beams) if result else 0, Limits.hypotheses, "hypotheses")
    _texts_fit("the prompt", (piece.text for piece in prompt.pieces), Limits.short_text)
    _texts_fit("the prompt", [prompt.text], Limits.text)
    if prompt.memory is not None:
        _memory_fits(prompt)
    if result is not None:
        _texts_fit("the result", (result.text, *(beam.text for beam in result.beams), *result.stats), Limits.text)
    for iteration in iterations:
        _iteration_fits(iteration)


def _memory_fits(prompt: Prompt) -> None:
    """Raises: TraceError where a memory is larger than ``Limits``, or its numbers contradict each other."""
    memory = prompt.memory
    assert memory is not None
    where, count = "the memory", len(memory.segments)
    _at_most(where, sum(len(segment.weights) for segment in memory.segments), Limits.values, "weights")
    _at_most(where, sum(max(0, segment.tokens) for segment in memory.segments), Limits.prompt_tokens, "tokens")
    _texts_fit(where, (segment.text for segment in memory.segments), Limits.text)
    _texts_fit(where, (memory.name, memory.digest), Limits.short_text)
    for number, segment in enumerate(memory.segments):
        if segment.tokens < 1 or not 0 <= segment.first_memory <= segment.first_memory + len(segment.weights) <= number:
            raise TraceError(f"damaged trace: segment {number + 1} of the prompt is empty, or recalls what comes later")
        if segment.weights and abs(sum(segment.weights) - 1) > WEIGHTS_ROUNDING:
            raise TraceError(f"damaged trace: the weights of segment {number + 1} of the prompt do not add up to 1")
    last = memory.segments[-1].tokens if count else 0
    if count < 2 or memory.sensory < 0 or memory.sensory + last != len(prompt.pieces):
        raise TraceError(
            f"damaged trace: {memory.sensory} sensory tokens and a last segment of {last} tokens are not the "
            f"{len(prompt.pieces)} tokens of the prompt; record it again"
        )


def _iteration_fits(iteration: Iteration) -> None:
    where, kept = f"iteration {iteration.index + 1}", iteration.kept
    deepest = max((node.layer for node in iteration.nodes), default=0)
    depths = (deepest, iteration.draft_depth + 1, len(iteration.layers))
    _at_most(where, max(depths), Limits.iteration_layers, "layers")
    _at_most(where, max(len(iteration.input_beams), len(iteration.output_beams)), Limits.layer_draws, "beams")
    _at_most(where, max(kept.prompt_slots, kept.slots_scored, kept.slots_kept), Limits.slots, "cache slots")
    _texts_fit(where, (node.text for node in iteration.nodes), Limits.short_text)
    most = {"nodes": Limits.layer_nodes, "trials": Limits.layer_trials, "draws": Limits.layer_draws}
    for kind, limit in most.items():
        for layer, count in Counter(item.layer for item in getattr(iteration, kind)).items():
            _at_most(f"{where}, layer {layer}", count, limit, kind)
    for layer in iteration.layers:
        _layer_fits(layer, f"{where}, layer {layer.layer}")


def _layer_fits(layer: Layer, where: str) -> None:
    lists = max(len(layer.alive), len(layer.beams), len(layer.finished), len(layer.alternatives))
    slots = max((beam.multiplicity for beam in layer.beams), default=0)
    _at_most(where, max(layer.width, lists, slots), Limits.layer_draws, "beams")
    _at_most(where, layer.draws_planned, Limits.layer_trials, "planned drafts")
    _texts_fit(where, [layer.width_reason, *(pair.text for pair in layer.alternatives)], Limits.short_text)


def check_consistency(settings: ResolvedSettings, iterations: Sequence[Iteration], result: Result | None) -> None:
    """Raises: TraceError, which names the first place that contradicts another."""
    known, branching = {ROOT}, settings.branching
    for iteration in iterations:
        if branching is not None and iteration.draft_depth > len(branching):
            _damaged(
                f"iteration {iteration.index} drafts {iteration.draft_depth} layers, but branching has {len(branching)}"
            )
        _check_iteration(iteration, known)
    if result is not None:
        _check_result(result, known)


def _at_most(where: str, found: int, limit: int, unit: str) -> None:
    if found > limit:
        too_large(where, found, limit, unit)


def _texts_fit(where: str, texts: Iterable[str], limit: int) -> None:
    """Refuse a long text, and half of a surrogate pair: an escape in JSON can write it, but nothing can show it."""
    for text in texts:
        _at_most(f"a text of {where}", len(text), limit, "characters")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            _damaged(f"a text of {where} holds {text[error.start]!a}, which is half a character")


def _check_iteration(iteration: Iteration, known: set[int]) -> None:
    where = f"iteration {iteration.index + 1}"
    if not iteration.layers:
        _damaged(f"{where} has no layers")
    _require(known, (beam.node for beam in iteration.input_beams), where)
    depth = {beam.node: 0 for beam in iteration.input_beams}
    for node in iteration.nodes:
        if node.id in known:
            _damaged(f"{where}: node {node.id} is listed twice")
        if node.parent not in depth:
            _damaged(f"{where}: node {node.id} has parent {node.parent}, which is no node or input beam before it")
        depth[node.id] = depth[node.parent] + 1
        if node.layer != depth[node.id]:
            _damaged(f"{where}: node {node.id} names layer {node.layer}, but its parent is in {depth[node.parent]}")
        known.add(node.id)
    drawn = {draw.node for draw in iteration.draws}
    for node in iteration.nodes:
        if node.kind == "drawn" and node.id not in drawn:
            _damaged(f"{where}: node {node.id} is a drawn node, but no draw names it")
    items: list[Trial | Draw] = [*iteration.trials, *iteration.draws]
    for item in items:
        if depth.get(item.node) != item.layer:
            _damaged(f"{where}: a trial or draw of layer {item.layer} names node {item.node}, which is not in it")
        if item.layer > len(iteration.layers) and not (isinstance(item, Trial) and item.joint):
            _damaged(f"{where}: a trial or draw names layer {item.layer} of {len(iteration.layers)}")
        if isinstance(item, Trial) and item.verdict == "carried" and (item.joint is None or item.acceptance is None):
            _damaged(f"{where}: the trial of node {item.node} carries it, but is no joint test")
    for number, layer in enumerate(iteration.layers, 1):
        _check_layer(layer, number, where, known)
        for beam in layer.alive:
            if depth.get(beam) != number - 1:
                _damaged(f"{where}, layer {number}: beam {beam} is alive, but is not of the layer above")
    _require(known, [*(beam.node for beam in iteration.output_beams), *iteration.kept.nodes], where)


def _check_layer(layer: Layer, number: int, where: str, known: set[int]) -> None:
    if layer.layer != number:
        _damaged(f"{where}: layer {layer.layer} stands at place {number}")
    lengths = len(layer.acceptance_chain), len(layer.chain_c), len(layer.chain_S), len(layer.accepted_distribution)
    chain = 0 if layer.kind == "bonus" and not layer.draws_planned else layer.draws_planned + 1
    if layer.draws_planned < 0 or lengths != (layer.draws_planned, chain, chain, chain):
        _damaged(
            f"{where}, layer {number}: draws_planned is {layer.draws_planned}, but acceptance_chain, chain_c, chain_S "
            f"and accepted_distribution have {lengths} entries"
        )
    pairs = [node for pair in layer.alternatives for node in (pair.parent, pair.node) if node is not None]
    _require(known, [*layer.alive, *(beam.node for beam in layer.beams), *layer.finished, *pairs], where)


def _check_result(result: Result, known: set[int]) -> None:
    _require(known, (beam.node for beam in result.beams), "result")
    if not result.beams:
        _damaged("the result has no hypotheses")
    for name, value in result.stats.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            _damaged(f"statistic {name[:60]!r} is a {type(value).__name__}; allowed are numbers and null")


def _require(known: set[int], named: Iterable[int], where: str) -> None:
    for node in named:
        if node not in known:
            _damaged(f"{where} refers to node {node}, which does not exist")


def _damaged(what: str) -> None:
    raise TraceError(f"damaged trace: {what}; record it again")
