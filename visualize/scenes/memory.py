"""The memory in front of a long prompt: its segments, and what each recalled of those before it."""

from dsbd.tracing.records import Prompt
from visualize.scenes.records import MemoryScene, SegmentScene
from visualize.scenes.tokens import flowing


def memory_scene(prompt: Prompt | None) -> MemoryScene | None:
    """Return the memory of a prompt; None if the whole prompt is in the window, or not known."""
    if prompt is None or prompt.memory is None:
        return None
    segments = (
        SegmentScene(one.tokens, flowing(one.text), one.first_memory, tuple(one.weights))
        for one in prompt.memory.segments
    )
    return MemoryScene(tuple(segments), prompt.memory.sensory)
