"""The About tab: the algorithm in one picture, the marks and what runs here (``about.html``)."""

import platform
from importlib.metadata import version

import gradio as gr

from dsbd.version import __version__
from visualize import forest_svg
from visualize.files import TEMPLATES
from visualize.theme import STYLES, Theme

from .parts import markup, read
from .recordings import recorded
from .runner import Runner

THEMES: tuple[Theme, Theme] = ("light", "dark")
PICTURE = "2-exact-width-four"
"""A recorded decode whose first pass is a forest of few columns, with all marks."""
PACKAGES = ("torch", "transformers", "gradio", "plotly")


def build_about_tab(runner: Runner) -> None:
    with gr.Column(elem_classes="about"):
        markup(about_markup(runner))
        gr.Textbox(
            read("citation.bib").strip(), label="Please cite the paper", buttons=["copy"], interactive=False,
            lines=7, elem_id="citation",
        )  # fmt: skip


def about_markup(runner: Runner) -> str:
    """Return the tab: with one pass of a recorded decode, light and dark, and the models in memory."""
    trace = recorded()[PICTURE]
    models = [
        (
            runner.pairs.title(name),
            role,
            model.id,
            f"{sum(parameter.numel() for parameter in model.model.parameters()):,}",
            model.numbers,
            model.device,
            model.engine,
        )
        for name, pair in runner.pairs.loaded().items()
        for role, model in zip(("large", "small"), pair.models, strict=False)
    ]
    return TEMPLATES.get_template("page/about.html").render(
        drawn={theme: forest_svg(trace, theme=theme) for theme in THEMES},
        styles=STYLES,
        models=models,
        own=__version__,
        python=platform.python_version(),
        packages={name: version(name) for name in PACKAGES},
    )
