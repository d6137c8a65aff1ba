"""A plan as markup. Every word that comes from a configuration is escaped."""

from collections.abc import Iterator
from html import escape

from dsbd.measure.forest_speed import DepthForecast
from dsbd.measure.model_sizes import ModelSizes
from dsbd.measure.planner import Forecast
from dsbd.models.memory import in_gigabytes

COMPUTED = "computed, not measured"


def plan_table(found: Forecast) -> str:
    """The figures that decide, and below them what they rest on."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in _rows(found)
    )
    assumed = "".join(f"<li>{escape(line)}</li>" for line in found.rests_on)
    title = f"{found.device.name}, {found.device.dtype}, engine {found.engine}"
    return (
        f'<p role="status"><b>{escape(title)}: {COMPUTED}.</b></p>'
        f'<div class="table-holder" tabindex="0" role="region" aria-label="Plan"><table class="figures-table">'
        f'<thead><tr><th scope="col">Figure</th><th scope="col">{COMPUTED.capitalize()}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div><p>What these figures rest on:</p><ul>{assumed}</ul>"
    )


def _rows(found: Forecast) -> Iterator[tuple[str, str]]:
    yield "Large model", _model(found.target)
    yield "Small model", _model(found.draft)
    room = found.device.memory_bytes
    of_all = "" if room is None else f" of {in_gigabytes(round(room))}: {'fits' if found.fits else 'does not fit'}"
    decode = f"{found.prompt_tokens} + {found.new_tokens} tokens, {found.beams} beams"
    yield f"Memory of a decode ({decode})", f"{in_gigabytes(found.memory.total)}{of_all}"
    yield "Keys and values in it", in_gigabytes(found.memory.cache)
    if found.largest_context is not None:
        yield "Largest context", f"{found.largest_context:,} tokens"
    if found.free_tokens is not None:
        yield "Tokens that cost the large model no more than one", f"{found.free_tokens:,.0f}"
    yield "Beam sampling", f"{found.beam_sampling_milliseconds:.3f} ms a token"
    yield "The default forest", _speed(found.asked)
    if found.best.best is not None:
        yield "The same at its best depth", _speed(found.best.best)


def _model(sizes: ModelSizes) -> str:
    return f"{sizes.id}, {sizes.parameters:,} parameters, {in_gigabytes(sizes.weight_bytes)}"


def _speed(one: DepthForecast) -> str:
    return (
        f"{one.draft_depth} layers deep: {one.milliseconds_per_token:.3f} ms a token, {one.ratio:.2f} × beam sampling"
    )
