"""Memory of a contender: what was measured, and beside it what other designs of the cache would take."""

from collections.abc import Mapping, Sequence
from typing import Any

from dsbd.measure.bench.records import Run


def memory_of(beams: int, drafts: bool, runs: Sequence[Run], forwards: Mapping[str, Any] | None) -> dict[str, Any]:
    """Bytes at the fullest moment of any run.

    Args:
        beams: beams that may be alive at once: the widest layer.
        drafts: whether the draft model's cache counts.
        runs: at least one.
        forwards: return value of :func:`dsbd.measure.hardware.measure_costs`, for the bytes of a slot.

    Returns:
        ``kv_peak_bytes`` and ``peak_allocated_bytes``, measured (None: not measured); ``computed``, from shapes alone:
        ``one_sequence_bytes`` (the paper's variant with one sequence: prompt and new tokens once) and
        ``cache_per_beam_bytes`` (the paper's design: that for each beam); ``ratio_to_one_sequence`` of the measured
        keys and values, None where either is missing.
    """
    kv = _largest([run.kv_peak_bytes for run in runs])
    found: dict[str, Any] = {
        "kv_peak_bytes": kv,
        "peak_allocated_bytes": _largest([run.peak_allocated_bytes for run in runs]),
        "computed": None,
        "ratio_to_one_sequence": None,
    }
    if forwards is not None:
        models = [forwards["target"], forwards["draft"] if drafts else None]
        slot = sum(model["slot_bytes"] for model in models if model is not None)
        one = slot * max(run.prompt_tokens + run.layers for run in runs)
        found["computed"] = {"one_sequence_bytes": one, "cache_per_beam_bytes": beams * one}
        found["ratio_to_one_sequence"] = None if kv is None else kv / one
    return found


def _largest(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
