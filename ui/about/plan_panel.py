"""The fold "Plan a pair": the memory that a pair needs, computed before anything is loaded."""

from typing import Any

import gradio as gr

from dsbd.errors import DsbdError, PairError, PlanError
from dsbd.measure.planner import plan_memory
from dsbd.models.presets import PRESETS

from ..engine import Engine
from ..pairs.shelf import BUNDLED_KEYS
from ..parts.components import markup
from ..parts.wiring import ON_GPU, PRIVATE
from ..play.pair_loading import LONGEST_NAME
from ..runs.sentences import alert, sentence
from .plan_table import plan_table

LARGEST_GB = 10_000
KNOWN = {
    **{key: (key, "") for key in BUNDLED_KEYS},
    **{f"{one.draft.id} + {one.target.id}": (one.target.id, one.draft.id) for one in PRESETS},
}
"""Pairs by their names here: target and draft; a bundled pair has one name for both."""
PUBLIC = {name for names in KNOWN.values() for name in names}
INTRODUCTION = "Computed from the configurations of two models; nothing is loaded, fetched or measured."


def build_plan_panel(engine: Engine) -> None:
    """The fold."""
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
        return KNOWN.get(name, (gr.skip(), gr.skip())) if isinstance(name, str) else (gr.skip(), gr.skip())

    def compute(*given: Any) -> str:
        return computed(engine, *given)

    known.input(fill, known, [target, draft], queue=False, **PRIVATE)
    go.click(compute, [target, draft, memory], said, **PRIVATE, **ON_GPU)


def computed(engine: Engine, target: Any, draft: Any, memory: Any) -> str:
    """The table of a plan as markup, or why there is none."""
    try:
        names = _names(engine, target, draft)
        if not isinstance(memory, (int, float)) or not 1 <= memory <= LARGEST_GB:
            raise PlanError(f"the memory is {str(memory)[:40]!r}; allowed are numbers of GB from 1 to {LARGEST_GB:,}")
        with engine.alone(lambda: False):  # a model without weights is built in another default dtype of torch's
            found = plan_memory(names[0], names[1] or None, memory=memory * 1e9, fetch=False)
    except DsbdError as error:
        return alert(sentence(error))
    return plan_table(found)


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
