"""A trace whose prompt was read into a memory, with texts that are hard to draw safely."""

from dataclasses import replace

from dsbd.tracing.records import MemoryRecord, SegmentRecord
from dsbd.tracing.trace import Trace, canonical_digest
from tests.visualize.nasty import NASTY
from tests.visualize.toy import toy_trace

TEXT = "Once upon a time there was a fox. " * 20
SHARES = (0.41, 0.22, 0.20, 0.1, 0.06, 0.007, 0.002, 0.001, 0.0)
SENSORY = 2


def remembered(segments: int = 10, tokens: int = 224, name: str = "toy") -> Trace:
    """Return the toy trace behind a memory: segment n recalls the shares in turn, the first is shorter."""
    trace = toy_trace(name)
    last = len(trace.prompt.pieces) - SENSORY
    sizes = [5, *[tokens] * (segments - 2), last]
    read = [
        SegmentRecord(
            size, f"{number + 1}. {NASTY[number % len(NASTY)]}\n{TEXT}", max(0, number - len(SHARES)), weights(number)
        )
        for number, size in enumerate(sizes)
    ]
    prompt = replace(trace.prompt, memory=MemoryRecord("toy-memory", read, SENSORY, f"sha256:{'0' * 64}"))
    whole = replace(trace, prompt=prompt)
    return replace(whole, digest=canonical_digest(whole))


def weights(number: int) -> list[float]:
    """Return what segment ``number``, from 0, recalled."""
    shares = SHARES[:number]
    return [share / sum(shares) for share in shares]
