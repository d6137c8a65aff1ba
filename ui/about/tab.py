"""The About tab: what this is, on one screen, and folds with details and a plan of any pair."""

import gradio as gr

from ..engine import Engine
from ..parts.components import markup
from ..parts.files import read
from . import content as about
from .models import models
from .plan_panel import build_plan_panel


def build_about_tab(engine: Engine) -> None:
    with gr.Column(elem_classes="about"):
        markup(about.algorithm(engine))
        markup(f'<section class="about-part"><h2>The marks</h2><dl class="about-marks">{about.marks()}</dl></section>')
        markup(
            f'<section class="about-part"><h2>What runs here</h2>{models(engine.pairs)}'
            f'<dl class="about-facts">{about.facts()}</dl>'
            f"<details><summary>Limits of this page</summary>{about.limits(engine)}</details></section>"
        )
        build_plan_panel(engine)
        markup(read("about/about.html"))
        gr.Textbox(
            read("about/citation.bib").strip(), label="Please cite the paper", buttons=["copy"], interactive=False,
            lines=7, elem_id="citation",
        )  # fmt: skip
