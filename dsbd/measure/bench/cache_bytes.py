"""The memory of a contender: as measured, and what other designs of the cache would need."""

from collections.abc import Sequence

from dsbd.measure.bench.records import Forwards, Memory, OtherCaches, Run


def memory_of(beams: int, drafts: bool, runs: Sequence[Run], forwards: Forwards | None) -> Memory:
    """Return the largest memory of any run.

    Args:
        beams: how many beams may be alive at once: the widest layer.
        drafts: whether the draft model's cache counts too.
        runs: at least one.
        forwards: costs of both models, for the bytes of a slot; None: nothing is computed.
    """
    kv = _largest([run.kv_peak_bytes for run in runs])
    allocated = _largest([run.peak_allocated_bytes for run in runs])
    if forwards is None:
        return Memory(kv_peak_bytes=kv, peak_allocated_bytes=allocated)
    slot = forwards.target.slot_bytes
    if drafts and forwards.draft is not None:
        slot += forwards.draft.slot_bytes
    one = slot * max(run.prompt_tokens + run.layers for run in runs)
    return Memory(
        kv_peak_bytes=kv,
        peak_allocated_bytes=allocated,
        computed=OtherCaches(one_sequence_bytes=one, cache_per_beam_bytes=beams * one),
        ratio_to_one_sequence=None if kv is None else kv / one,
    )


def _largest(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
