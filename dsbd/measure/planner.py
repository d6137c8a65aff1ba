"""Computes the memory that a pair needs before anything is loaded: from the configurations of both models."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dsbd.errors import PlanError
from dsbd.measure.memory_needs import RESERVED, MemoryNeeds, largest_context, memory_needs
from dsbd.measure.model_sizes import ModelSizes, model_sizes
from dsbd.methods import resolve
from dsbd.models.load_options import DTYPES, ENGINES
from dsbd.models.loading import sources_of
from dsbd.settings import DecodingSettings

PROMPT_TOKENS = 512
LONGEST_PROMPT = 10_000_000
UNKNOWN = (
    "How fast the pair is: measure it, with python -m dsbd bench.",
    f"Activations, the driver and gaps of the allocator: {RESERVED:.0%} of the memory is kept free for them, assumed.",
    "Whether both models pass the forest check: it runs when they are loaded.",
)
"""What the plan does not know, in sentences."""


@dataclass(frozen=True)
class MemoryPlan:
    """What was computed; nothing was measured. Sizes are in bytes."""

    dtype: str
    engine: str
    target: ModelSizes
    draft: ModelSizes
    prompt_tokens: int
    new_tokens: int
    beams: int
    needs: MemoryNeeds
    memory: float | None
    """Of the device, as given."""
    fits: bool | None
    """None where ``memory`` is None."""
    largest_context: int | None
    """Prompt and new tokens that fit into the memory and into the contexts of both models; None as for ``fits``."""
    unknown: tuple[str, ...] = UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return asdict(self)


def plan_memory(
    target: str | Path | None = None,
    draft: str | Path | None = None,
    settings: DecodingSettings | None = None,
    *,
    prompt_tokens: int = PROMPT_TOKENS,
    dtype: str = "bfloat16",
    engine: str = "graph",
    memory: float | None = None,
    fetch: bool = True,
) -> MemoryPlan:
    """Compute what a decode needs.

    Args:
        target: folder or hub id of the target model, of which only ``config.json`` is read; None and
            ``bundled:PAIR`` as for :func:`dsbd.load_pair`.
        draft: the same of the draft model.
        settings: forest, depth, widths and ``max_new_tokens``. None: the defaults.
        prompt_tokens: length of the prompt.
        dtype: of weights and cache.
        engine: as for :func:`dsbd.load_pair`; ``graph`` allocates the most.
        memory: bytes of the device. None: the plan does not say whether the pair fits.
        fetch: False: a configuration that is not on this machine is an error, and no hub is asked.

    Raises:
        PairError: a configuration cannot be read, or its model cannot be planned.
        PlanError: dtype, engine or a number is unknown or out of range.
        SettingsError: the settings contradict each other.
    """
    settings = settings or DecodingSettings()
    _check(settings, prompt_tokens, dtype, engine, memory)
    names = sources_of(target, draft)
    if names[1] is None:
        raise PlanError("there is no draft model; a plan is about a pair: give both")
    sizes = model_sizes(names[0], dtype, fetch), model_sizes(names[1], dtype, fetch)
    resolved = resolve(settings)
    needs = memory_needs(*sizes, resolved, prompt_tokens, engine)
    most = None
    if memory is not None:
        limits = [size.context_size for size in sizes if size.context_size is not None]
        most = min([largest_context(*sizes, resolved, engine, memory), *limits])
    return MemoryPlan(
        dtype=dtype,
        engine=engine,
        target=sizes[0],
        draft=sizes[1],
        prompt_tokens=prompt_tokens,
        new_tokens=settings.max_new_tokens,
        beams=resolved.max_width,
        needs=needs,
        memory=memory,
        fits=None if memory is None else needs.total <= (1 - RESERVED) * memory,
        largest_context=most,
    )


def _check(settings: DecodingSettings, prompt_tokens: int, dtype: str, engine: str, memory: float | None) -> None:
    """Refuse what cannot be planned. Raises: PlanError."""
    if settings.is_auto:
        raise PlanError("the plan needs the draft_depth and the widths in numbers, not auto")
    if not isinstance(prompt_tokens, int) or not 1 <= prompt_tokens <= LONGEST_PROMPT:
        raise PlanError(f"prompt_tokens is {prompt_tokens!r}; allowed are whole numbers from 1 to {LONGEST_PROMPT}")
    if dtype not in DTYPES:
        raise PlanError(f"dtype is {dtype!r}; choose one of {', '.join(DTYPES)}")
    if engine not in (named := ENGINES[1:]):
        raise PlanError(f"engine is {engine!r}; choose one of {', '.join(named)}")
    if memory is not None and not 0 < memory < float("inf"):
        raise PlanError(f"memory is {memory!r}; give the bytes of the device, more than 0")
