"""The About tab: the algorithm in one picture, the marks (``about.html``) and what runs here."""

import platform
from html import escape
from importlib.metadata import version

import gradio as gr

from dsbd.models.language_model import LanguageModel
from dsbd.version import __version__
from visualize import forest_svg
from visualize.theme import Theme

from .engine import Engine, model_name
from .parts import figures_table, markup, read
from .play import recorded

THEMES: tuple[Theme, Theme] = ("light", "dark")
PACKAGES = ("torch", "transformers", "gradio", "plotly")


def build_about_tab(engine: Engine) -> None:
    with gr.Column(elem_classes="about"):
        markup(read("about.html").replace("{picture}", picture(engine)))
        markup(
            f'<section class="about-part"><h2>What runs here</h2>{models(engine)}'
            f'<dl class="about-facts">{facts()}</dl></section>'
        )
        gr.Textbox(
            read("citation.bib").strip(), label="Please cite the paper", buttons=["copy"], interactive=False,
            lines=7, elem_id="citation",
        )  # fmt: skip


def picture(engine: Engine) -> str:
    """Return one iteration of a recorded decode, light and dark."""
    made = engine.pairs.target(engine.pairs.first)
    own = [trace for trace in recorded().values() if trace.models.target.id == made]
    return "".join(
        f'<div class="first-{theme}" role="region" tabindex="0" aria-label="A forest">'
        f"{forest_svg(trace, theme=theme)}</div>"
        for trace in own[:1]
        for theme in THEMES
    )


def facts() -> str:
    rows = {
        "This page": f"DSBD {__version__}, Apache-2.0",
        "Versions": f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "Licences": "The code and the bundled weights: Apache-2.0. Other models have other licences.",
    }
    return "".join(f"<div><dt>{name}</dt><dd>{escape(words)}</dd></div>" for name, words in rows.items())


def models(engine: Engine) -> str:
    """Return a table of the models in memory."""
    rows = "".join(
        _row(engine.pairs.title(name), role, model)
        for name, pair in engine.pairs.loaded().items()
        for role, model in (("large", pair.target), ("small", pair.draft))
        if model is not None
    )
    heads = ("Pair", "Role", "Model", "Parameters", "Numbers", "Device", "Engine")
    return figures_table("Models", heads, rows)


def _row(pair: str, role: str, model: LanguageModel) -> str:
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    facts = (role, model_name(model.id), f"{parameters:,}", model.numbers, str(model.device), model.engine)
    cells = "".join(f"<td>{escape(fact)}</td>" for fact in facts)
    return f'<tr><th scope="row">{escape(pair)}</th>{cells}</tr>'
