"""The fold "Plan a pair": the memory that a pair needs, computed before anything is loaded."""

from collections.abc import Iterator
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError, PairError, PlanError
from dsbd.measure.model_sizes import ModelSizes
from dsbd.measure.planner import MemoryPlan, plan_memory
from dsbd.models.free_memory import in_gigabytes
from dsbd.models.presets import PRESETS

from ..engine import Engine
from ..pairs.shelf import BUNDLED_KEYS
from ..parts.components import figures_table, markup
from ..parts.wiring import ON_GPU, PRIVATE
from ..play.pair_loading import LONGEST_NAME
from ..runs.sentences import alert, sentence

LARGEST_GB = 10_000
KNOWN = {
    **{key: (key, "") for key in BUNDLED_KEYS},
    **{f"{one.draft.id} + {one.target.id}": (one.target.id, one.draft.id) for one in PRESETS},
}
"""Target and draft of each pair that the list offers; a bundled pair has one name for both."""
PUBLIC = {name for names in KNOWN.values() for name in names}
COMPUTED = "computed, not measured"
INTRODUCTION = "Computed from the configurations of two models; nothing is loaded, fetched or measured."


def build_plan_panel(engine: Engine) -> None:
    first = next(iter(KNOWN))
    own = bool(engine.allowed)
    with gr.Accordion("Plan a pair: memory, computed", open=False, elem_classes="fold", elem_id="plan"):
        markup(f'<p class="said">{INTRODUCTION}</p>')
        with gr.Row():
            known = gr.Dropdown(list(KNOWN), value=first, label="A known pair", filterable=False, elem_id="plan-pair")
            memory = gr.Number(
                80, label="Memory of the GPU, in GB", minimum=1, maximum=LARGEST_GB, buttons=[], elem_id="plan-memory"
            )
        with gr.Row(visible=own):
            target = gr.Textbox(KNOWN[first][0], label="Target: folder or hub id", max_lines=1, elem_id="plan-target")
            draft = gr.Textbox(KNOWN[first][1], label="Draft: folder or hub id", max_lines=1, elem_id="plan-draft")
        with gr.Row(elem_classes="tools after"):
            go = gr.Button("Compute", size="sm", elem_id="plan-go", min_width=0)
        said = markup("", elem_id="plan-said")

    def fill(name: Any) -> tuple[Any, Any]:
        return KNOWN.get(str(name), (gr.skip(), gr.skip()))

    known.input(fill, known, [target, draft], queue=False, **PRIVATE)
    go.click(partial(computed, engine), [target, draft, memory], said, **PRIVATE, **ON_GPU)


def computed(engine: Engine, target: Any, draft: Any, memory: Any) -> str:
    """The table of a plan, or what is wrong, as markup."""
    try:
        names = _names(engine, target, draft)
        if not isinstance(memory, (int, float)) or not 1 <= memory <= LARGEST_GB:
            raise PlanError(f"the memory is {str(memory)[:40]!r}; allowed are numbers of GB from 1 to {LARGEST_GB:,}")
        with engine.alone(lambda: False):  # a model without weights is built under another default dtype of torch
            found = plan_memory(names[0], names[1] or None, memory=memory * 1e9, fetch=False)
    except DsbdError as error:
        return alert(sentence(error))
    return _table(found)


def _names(engine: Engine, target: Any, draft: Any) -> tuple[str, str]:
    """The names, if a visitor may ask about them. Raises: PairError."""
    names = []
    for role, name in (("target", target), ("draft", draft)):
        if not isinstance(name, str) or len(name) > LONGEST_NAME:
            raise PairError(f"the {role} is no name; give a folder or a hub id like owner/name")
        names.append(name.strip())
        if names[-1] not in PUBLIC:
            engine.allowed.require(names[-1])
    return names[0], names[1]


def _table(found: MemoryPlan) -> str:
    """The figures, and below them what the plan does not know. Words of a configuration are escaped."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in _rows(found)
    )
    unknown = "".join(f"<li>{escape(line)}</li>" for line in found.unknown)
    return (
        f'<p role="status"><b>{escape(f"{found.dtype}, engine {found.engine}")}: {COMPUTED}.</b></p>'
        f"{figures_table('Plan', ('Figure', COMPUTED.capitalize()), rows)}"
        f"<p>Not known before the pair is loaded:</p><ul>{unknown}</ul>"
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
