"""A plan as markup. Every word that comes from a configuration is escaped."""

from collections.abc import Iterator
from html import escape

from dsbd.measure.model_sizes import ModelSizes
from dsbd.measure.planner import MemoryPlan
from dsbd.models.memory import in_gigabytes

COMPUTED = "computed, not measured"


def plan_table(found: MemoryPlan) -> str:
    """The figures, and below them what the plan does not know."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in _rows(found)
    )
    unknown = "".join(f"<li>{escape(line)}</li>" for line in found.unknown)
    return (
        f'<p role="status"><b>{escape(f"{found.dtype}, engine {found.engine}")}: {COMPUTED}.</b></p>'
        f'<div class="table-holder" tabindex="0" role="region" aria-label="Plan"><table class="figures-table">'
        f'<thead><tr><th scope="col">Figure</th><th scope="col">{COMPUTED.capitalize()}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div><p>Not known before the pair is loaded:</p><ul>{unknown}</ul>"
    )


def _rows(found: MemoryPlan) -> Iterator[tuple[str, str]]:
    yield "Large model", _model(found.target)
    yield "Small model", _model(found.draft)
    room = found.memory
    of_all = "" if room is None else f" of {in_gigabytes(round(room))}: {'fits' if found.fits else 'does not fit'}"
    decode = f"{found.prompt_tokens} + {found.new_tokens} tokens, {found.beams} beams"
    yield f"Memory of a decode ({decode})", f"{in_gigabytes(found.needs.total)}{of_all}"
    yield "Keys and values in it", in_gigabytes(found.needs.cache)
    if found.largest_context is not None:
        yield "Largest context", f"{found.largest_context:,} tokens"


def _model(sizes: ModelSizes) -> str:
    return f"{sizes.id}, {sizes.parameters:,} parameters, {in_gigabytes(sizes.weight_bytes)}"
