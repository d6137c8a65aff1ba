"""What a trace says that nothing else in it confirms: the digest alone seals it.

For the settings this is found by trial: where another value leaves every decision as it is, the run did not turn on
the setting. The rest is read off the record.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.settings import FORESTS, METHODS, VERIFICATIONS, ResolvedSettings
from dsbd.tracing.trace import Trace

CHOICES = {"method": METHODS, "forest": FORESTS, "verification": VERIFICATIONS}
STEP = 1e-3
"""How far a number is moved, relative to itself."""


def sealed_only(trace: Trace, follows: Callable[[Trace], bool]) -> tuple[str, ...]:
    """One line for each thing that could be changed unseen, were it not for the digest.

    Args:
        trace: one in which everything follows.
        follows: decides a trace again, without its digest.
    """
    return (*_settings(trace, follows), *_record(trace))


def _settings(trace: Trace, follows: Callable[[Trace], bool]) -> Iterator[str]:
    for field in fields(ResolvedSettings):
        value = getattr(trace.settings, field.name)
        for other in _others(field.name, value, trace.settings):
            if other == value:
                continue
            try:
                settings = replace(trace.settings, **{field.name: other})
            except SettingsError:
                continue
            seed = other if field.name == "seed" else trace.seed
            if follows(replace(trace, settings=settings, seed=seed)):
                yield f"settings.{field.name}: {_plain(other)} instead of {_plain(value)} decides the same"
                break


def _others(name: str, value: Any, settings: ResolvedSettings) -> list[Any]:
    """Values near the recorded one."""
    if name in CHOICES:
        return [other for other in CHOICES[name] if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * (1 + STEP), value * (1 - STEP), value - STEP, value + STEP]
    if name == "branching":
        return [(1,) * settings.draft_depth] if value is None else [(*value[:-1], value[-1] + 1), value[:-1]]
    if isinstance(value, tuple):
        return [(*value[:-1], value[-1] * (1 + STEP))]
    return [64] if name == "input_beams" else [(1.0,) * (settings.draft_depth + 1)]


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _record(trace: Trace) -> Iterator[str]:
    """The fields beside the settings, with how many there are."""
    nodes = [node for iteration in trace.iterations for node in iteration.nodes]
    trials = [trial for iteration in trace.iterations for trial in iteration.trials]
    draws = [draw for iteration in trace.iterations for draw in iteration.draws]
    models = [name for name in ("target", "draft") if getattr(trace.models, name) is not None]
    yield f"software: {', '.join(f'{name} {version}' for name, version in trace.software.items()) or 'none named'}"
    yield f"models: id, revision, dtype, device and attention of {' and '.join(models)}"
    yield f"prompt: its text and {_many(len(trace.prompt.pieces), 'token')}"
    texts = len({node.token_id for node in nodes})
    yield f"texts of {_many(texts, 'token')}, and of the result" if trace.result else f"texts of {texts} tokens"
    yield f"clock times of {_many(len(trace.iterations), 'iteration')}, all together, but not their sums"
    yield f"cache slots named by {_many(len(trace.iterations), 'iteration')}"
    if trace.result is not None:
        yield "statistics prefill_seconds and kv_peak_bytes"
    if trials:
        yield f"wording of the reasons of {_many(len(trials), 'trial')}"
    tests = [one for iteration in trace.iterations for one in iteration.beginnings]
    tried = [*(trial.uniform for trial in trials), *(one.uniform for one in tests)]
    uniforms = sum(uniform is not None for uniform in tried) + len(draws)
    yield f"{_many(uniforms, 'uniform')}, each within the interval that its decision leaves"
    unreached = sum(node.target_prob is None for node in nodes)
    if unreached:
        yield f"target_log_prob of {_many(unreached, 'node')} in layers that were never reached"
    lost = sum(node.target_prob == 0 and node.target_log_prob is not None for node in nodes)
    if lost:
        yield f"target_log_prob of {_many(lost, 'node')} without a probability, as far as they stay the least likely"
    beside = sum(node.target_log_prob is None for node in nodes)
    if beside and not trace.settings.lossless:
        yield f"target_log_prob of {_many(beside, 'node')} that the target did not score or finds impossible"
    if trace.settings.searches_blocks:
        yield "that no other block is likelier, and statistic draft_calls"
    others = sum(pair.node is None for iteration in trace.iterations for layer in iteration.layers
                 for pair in layer.alternatives)  # fmt: skip
    if others:
        yield f"probabilities of {_many(others, 'likeliest pair')} beside the forest, within their order"
    drafted = sum(node.draft_log_prob is not None for node in nodes)
    if drafted:
        yield f"draft_log_prob of {_many(drafted, 'node')}, within single precision or where Q is not compared"
    rests = sum(one.rest is not None for one in tests)
    if rests:
        yield f"rest of {_many(rests, 'beginning')}, together with its chance, where no residual is drawn from"
    fresh = sum(draw.kind != "recovered" for draw in draws)
    if fresh:
        yield f"draft_prob of {_many(fresh, 'draw')} that no residual took part in"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
