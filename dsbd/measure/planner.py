"""Computes the memory that a pair needs before anything is loaded: from the configurations of both models."""

from bisect import bisect_right
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dsbd.errors import PlanError
from dsbd.measure.model_sizes import ModelSizes, model_sizes
from dsbd.methods import resolve
from dsbd.models.engines.graph import SLOT_BUCKETS, TOKEN_BUCKETS, bucket_of, buffer_slots
from dsbd.models.loading import DTYPES, sources_of
from dsbd.models.making import ENGINES
from dsbd.session import LONG, slots_expected
from dsbd.settings import DecodingSettings, ResolvedSettings

RESERVED = 0.1
"""The share of the memory that stays free for the driver, activations and gaps of the allocator: assumed."""
LONGEST = 100_000_000
SINGLE_BYTES = 4
PROMPT_TOKENS = 512
LONGEST_PROMPT = 10_000_000
UNKNOWN = (
    "How fast the pair is: measure it, with python -m dsbd bench.",
    f"Activations, the driver and gaps of the allocator: {RESERVED:.0%} of the memory is kept free for them, assumed.",
    "Whether both models pass the forest check: it runs when they are loaded.",
)
"""What the plan does not know, in sentences."""


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes, of both models together unless a field says otherwise."""

    target_weights: int
    draft_weights: int
    slot: int
    """Keys and values of one token."""
    prompt: int
    """Keys and values of the prompt, which all beams share."""
    beam: int
    """Keys and values that a beam adds at most: those of its new tokens, if it shares none with another beam."""
    forest: int
    """Keys and values of the nodes of one forest."""
    cache: int
    """Keys and values that the engine allocates, room to grow included."""
    cache_per_beam: int
    """For comparison: a cache for each beam, prompt included, as in the paper."""
    logits: int
    """Rows of logits of one forest, as the model gives them and in single precision."""
    graphs: int
    """Inputs and logits of captured forwards; 0 where nothing is captured."""
    total: int


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
    sizes = model_sizes(names[0], dtype), model_sizes(names[1], dtype)
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


def memory_needs(
    target: ModelSizes, draft: ModelSizes, settings: ResolvedSettings, prompt_tokens: int, engine: str
) -> MemoryNeeds:
    """Return what a decode needs.

    Args:
        target: sizes of the target model.
        draft: sizes of the draft model.
        settings: of a drafting method; the widest layer, the forest and the number of new tokens count.
        prompt_tokens: length of the prompt.
        engine: ``eager``, ``traced`` or ``graph``.
    """
    slot, beams = target.slot_bytes + draft.slot_bytes, settings.max_width
    nodes = forest_nodes(settings)
    cache = sum(_cache(model, settings, prompt_tokens, engine) for model in (target, draft))
    rows = ((target, beams + nodes), (draft, max(beams, settings.draft_width)))
    logits = sum(count * model.vocabulary_size * _logit_bytes(model.number_bytes) for model, count in rows)
    slots = slots_expected(prompt_tokens, settings)
    graphs = sum(_graphs(model, count, slots) for model, count in rows) if engine == "graph" else 0
    weights = target.weight_bytes + draft.weight_bytes
    return MemoryNeeds(
        target_weights=target.weight_bytes,
        draft_weights=draft.weight_bytes,
        slot=slot,
        prompt=prompt_tokens * slot,
        beam=settings.max_new_tokens * slot,
        forest=nodes * slot,
        cache=cache,
        cache_per_beam=beams * (prompt_tokens + settings.max_new_tokens) * slot,
        logits=logits,
        graphs=graphs,
        total=weights + cache + logits + graphs,
    )


def largest_context(
    target: ModelSizes, draft: ModelSizes, settings: ResolvedSettings, engine: str, memory_bytes: float
) -> int:
    """Return the most tokens, prompt and new ones, whose decode fits in the memory; 0 if not even the weights do.

    The models' own limits do not count here.
    """

    def total(context: int) -> int:
        new = min(settings.max_new_tokens, context)
        asked = replace(settings, max_new_tokens=new)
        return memory_needs(target, draft, asked, context - new, engine).total

    return bisect_right(range(1, LONGEST), (1 - RESERVED) * memory_bytes, key=total)


def forest_nodes(settings: ResolvedSettings) -> int:
    """Return the nodes of a forest: drafts and cover nodes."""
    return sum(settings.layer_slots) + settings.draft_depth * settings.cover_width


def _cache(model: ModelSizes, settings: ResolvedSettings, prompt_tokens: int, engine: str) -> int:
    """Return the most bytes of keys and values at one time: while a cache grows, the old and the new one."""
    more = max(settings.max_new_tokens - LONG, 0)
    slots = slots_expected(prompt_tokens, settings) + more
    captured = buffer_slots(slots, model.context_size) if engine == "graph" else 0
    if slots < captured:
        return captured * model.slot_bytes
    grows = more > 0 or engine == "graph"
    return (captured + (2 if grows else 1) * slots) * model.slot_bytes


def _logit_bytes(size: int) -> int:
    """Return the bytes of one logit: as given, widened to single precision, and as a log-probability."""
    wide = max(size, SINGLE_BYTES)
    return size + wide + (wide if size < SINGLE_BYTES else 0)


def _graphs(model: ModelSizes, tokens: int, slots: int) -> int:
    """Return the bytes of masks and logits of the captured forwards of so many tokens, one for each size of the cache
    that a decode goes through."""
    if tokens > TOKEN_BUCKETS[-1] or slots >= buffer_slots(slots, model.context_size):
        return 0
    size, last = bucket_of(TOKEN_BUCKETS, tokens), bucket_of(SLOT_BUCKETS, slots)
    columns = (model.vocabulary_size + span * model.masks for span in SLOT_BUCKETS if span <= last)
    return size * sum(columns) * model.number_bytes
