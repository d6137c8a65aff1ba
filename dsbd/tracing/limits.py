"""How large a trace may be. Every reader uses one of the two sets of limits below."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class ReadLimits:
    """The most that a reader accepts.

    The defaults leave room for the largest trace that a decode is expected to write: 512 iterations with draft_depth 8,
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


FILE_LIMITS = ReadLimits()
"""For files that the user names: the command line and the functions of ``visualize``."""
PAGE_LIMITS = ReadLimits(
    packed_bytes=8 * MIB,
    unpacked_bytes=32 * MIB,
    values=1_500_000,
    text=1_000_000,
    prompt_tokens=32_768,
    nodes=50_000,
    iterations=2_048,
    hypotheses=5_000,
    slots=100_000,
)
"""For files that visitors send to a page."""
