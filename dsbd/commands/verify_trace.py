"""``verify-trace``: decide everything in a trace again, and decode it again with ``--replay``."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dsbd.commands.flags import input_path, path_or_id
from dsbd.commands.parser import CHECK_FAILED, OK, new_command, print_json
from dsbd.errors import DsbdError, TraceError

if TYPE_CHECKING:
    from dsbd.models.pair import Pair, Prompt
    from dsbd.tracing.records import IterationRecord
    from dsbd.tracing.trace import Trace

CLOSE = 1e-4
"""Two probabilities of float32 models that differ by more are not the same, whatever machine computed them."""


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "verify-trace", "decide everything in a trace again", run)
    parser.add_argument("file", type=input_path, metavar="FILE")
    parser.add_argument("--replay", action="store_true", help="also decode again with the models, and compare")
    what = "where the model is now, for --replay (the recorded one)"
    parser.add_argument("--target", type=path_or_id, metavar="PATH_OR_ID", help=f"target: {what}")
    parser.add_argument("--draft", type=path_or_id, metavar="PATH_OR_ID", help=f"draft: {what}")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

    trace = Trace.load(parsed.file)
    report = verify_trace(trace)
    replayed = replay(trace, _pair_of(trace, parsed.target, parsed.draft)) if parsed.replay and report.passed else None
    passed = report.passed and (replayed is None or replayed["difference"] is None)
    if parsed.json:
        print_json({**asdict(report), "lossless": trace.settings.lossless, "replayed": replayed})
        return OK if passed else CHECK_FAILED
    lines = [f"does not follow: {report.failure}"]
    if report.passed:
        lines = [f"all {report.checks} decisions and identities follow"]
    if not report.finished:
        lines.append("unfinished: the trace has no result, so its decode was stopped, or its end is missing")
    if not trace.digest:
        lines.append("no digest: the trace was made in a browser, and what is not decided is not sealed")
    if not trace.settings.lossless:
        lines.append(
            f"method {trace.settings.method} keeps no distribution: what follows is its own test, not the target's"
        )
    if replayed is not None:
        same = f"decoded again: all ids are the same, probabilities differ by {replayed['largest']:.1g} at most"
        lines.append(f"decoded again: {replayed['difference']}" if replayed["difference"] else same)
    print(*map(printable, lines), sep="\n")
    return OK if passed else CHECK_FAILED


def printable(text: str) -> str:
    """Return a text on one line, with what a terminal would obey written as an escape.

    >>> printable("a\\x1b[2K\\n")
    'a\\\\x1b[2K\\\\n'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def replay(trace: "Trace", pair: "Pair") -> dict[str, Any]:
    """Decode again with the recorded settings and seed, and compare; coupled draws also without guesses.

    Returns:
        ``difference``: the first one, None if there is none. ``largest``: that of two probabilities.
    """
    from dsbd.api import stream

    pieces = [piece.token_id for piece in trace.prompt.pieces]
    prompt: Prompt = trace.prompt.text
    chat, again = False, None
    if trace.prompt.memory is None and pair.encode(prompt, chat=False) != pieces:
        chat = pair.detokenize(pieces) != prompt
        prompt = prompt if chat else pieces  # it was given as ids, or as messages
    if trace.history:
        return _replayed_alone(trace, pair, prompt, chat, 0.0)
    for update in stream(pair, prompt, trace.settings, record=True, chat=chat, stop=trace.stop, guess=trace.guess):
        again = update.result.trace if update.result is not None else None
    assert again is not None, "the last update carries the result"
    if [piece.token_id for piece in again.prompt.pieces] != pieces:
        return {"difference": "the models read the prompt as other tokens", "largest": 0.0}
    largest = 0.0
    for one, other in zip(trace.iterations, again.iterations, strict=False):
        if _decided(one) != _decided(other):
            return {"difference": f"iteration {one.index + 1} has other tokens or verdicts", "largest": largest}
        for left, right in zip(_probabilities(one), _probabilities(other), strict=True):
            largest = max(largest, abs((left or 0.0) - (right or 0.0)))
    if len(again.iterations) < len(trace.iterations):
        return {"difference": f"it ends after {len(again.iterations)} iterations", "largest": largest}
    if trace.result is not None and again.result is not None and trace.result.token_ids != again.result.token_ids:
        return {"difference": "it returns other tokens", "largest": largest}
    if largest > CLOSE:
        return {"difference": f"probabilities differ by {largest:.1g}", "largest": largest}
    return _replayed_alone(trace, pair, prompt, chat, largest)


def _replayed_alone(trace: "Trace", pair: "Pair", prompt: "Prompt", chat: bool, largest: float) -> dict[str, Any]:
    """Decode coupled draws again without guesses, and compare the text."""
    from dsbd.api import decode

    difference = None
    if trace.result is not None and trace.settings.forest == "coupled":
        settings = replace(trace.settings, draft_depth=0, depth_costs=None)
        alone = decode(pair, prompt, settings, chat=chat, stop=trace.stop)
        if [beam.token_ids for beam in alone.beams] != [beam.token_ids for beam in trace.result.beams]:
            difference = "without guesses other beams are written"
    elif trace.history:
        difference = "its guesses came from a history, which a trace does not hold; only coupled draws do without"
    return {"difference": difference, "largest": largest}


def _decided(iteration: "IterationRecord") -> list[Any]:
    """All that an iteration decided: nodes, verdicts, draws and widths."""
    nodes = [(node.parent, node.token_id, node.kind) for node in iteration.nodes]
    trials = [(trial.node, trial.verdict) for trial in iteration.trials]
    draws = [(draw.node, draw.kind) for draw in iteration.draws]
    widths = [(layer.width, layer.width_reason, layer.outcome, layer.target_support) for layer in iteration.layers]
    return [nodes, trials, draws, widths]


def _probabilities(iteration: "IterationRecord") -> Iterator[float | None]:
    """All probabilities and random numbers of an iteration, in the order of the record."""
    for node in iteration.nodes:
        yield from (node.target_prob, node.draft_prob)
    for trial in iteration.trials:
        yield from (trial.acceptance, trial.uniform)
    for draw in iteration.draws:
        yield from (draw.target_prob, draw.cdf_low, draw.cdf_high, draw.uniform)


def _pair_of(trace: "Trace", target: str | None, draft: str | None) -> "Pair":
    """Load the recorded models, or those that are named in their place. Raises: TraceError: they differ."""
    from dsbd.drafts import NAMED
    from dsbd.models.engines.choice import WEIGHTS
    from dsbd.models.loading import load_pair

    recorded = trace.models.target
    source = recorded.id.rpartition("/")[0] if recorded.id.startswith("bundled") else recorded.id
    made_by = None if trace.models.draft is None else trace.models.draft.id
    if target is None and draft is None and (made_by in NAMED or not source.startswith("bundled")):
        draft = made_by
    try:
        how: dict[str, Any] = {"weights" if recorded.dtype in WEIGHTS else "dtype": recorded.dtype}
        pair = load_pair(target or source, draft, **how)
    except (DsbdError, OSError) as error:
        raise TraceError(f"cannot replay: {printable(str(error))}; name the models with --target and --draft") from None
    if pair.target.vocabulary_size != recorded.vocabulary_size:
        raise TraceError(
            f"cannot replay: the target has {pair.target.vocabulary_size} tokens, the recorded one "
            f"{recorded.vocabulary_size}; name the recorded models with --target and --draft"
        )
    return pair
