"""The About tab: the algorithm in one picture, the marks, what runs here, and the limits."""

import platform
import re
from html import escape
from importlib.metadata import version

import gradio as gr

from dsbd.models.language_model import LanguageModel
from dsbd.util import asset_path
from dsbd.version import __version__
from visualize import forest_svg
from visualize.pages.lesson import markdown
from visualize.theme import STYLES, Theme

from .engine import TITLES, Engine, model_name
from .limits import setting
from .parts import figures_table, markup, read
from .play import recorded

THEMES: tuple[Theme, Theme] = ("light", "dark")
CARDS = ("bundled:stories", "bundled:sql")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK = re.compile(r"<a [^>]*>(.*?)</a>", re.DOTALL)
_HEADING = re.compile(r"<(/?)h([1-6])>")
NAME = (
    "DSBD is dynamic-width speculative beam decoding: a small model guesses several versions of a text ahead, the "
    "large model checks them at once, and how many versions are kept changes from token to token."
)
STEPS = (
    ("Guess", "The small model guesses a forest of tokens, several tokens ahead."),
    ("Check", "The large model reads the whole forest in one pass."),
    (
        "Choose",
        "Token by token, guesses are kept or dropped, so that the text follows the law of the large model. "
        '<details class="about-term"><summary>The law?</summary>How probable every text is when the large model writes '
        "alone.</details>",
    ),
    ("Keep", "Several tokens are final after one pass of the large model."),
)
MARKS = {
    "start": ("where the text stands", "the prompt, or a version of the text that an earlier pass kept"),
    "kept": (
        "kept guess",
        "a guess that passed its trial: its random number fell below P′/Q. In a joint test, also one that a longer "
        "text takes along",
    ),
    "dropped": ("dropped guess", "a guess that failed its trial, or that follows a token which was not kept"),
    "picked": (
        "picked by the large model",
        "where no guess had passed, to keep as many versions as planned, or for free after every guess had passed",
    ),
    "guess": ("guess, not tested", "checking has not come to it, or enough versions were there before its turn"),
}
"""The name and the definition of every mark of the drawings."""
PACKAGES = ("torch", "transformers", "gradio", "plotly")


def build_about_tab(engine: Engine) -> None:
    with gr.Column(elem_classes="about"):
        markup(algorithm(engine))
        markup(f'<section class="about-part"><h2>The marks</h2><dl class="about-marks">{marks()}</dl></section>')
        markup(
            f'<section class="about-part"><h2>What runs here</h2>{models(engine)}'
            f'<dl class="about-facts">{facts()}</dl>'
            f"<details><summary>Limits of this page</summary>{limits(engine)}</details></section>"
        )
        markup(read("about.html"))
        gr.Textbox(
            read("citation.bib").strip(), label="Please cite the paper", buttons=["copy"], interactive=False,
            lines=7, elem_id="citation",
        )  # fmt: skip


def algorithm(engine: Engine) -> str:
    """Return the picture: one iteration of a recorded decode, light and dark, with the four steps above it."""
    made = engine.pairs.target(engine.pairs.first)
    own = [trace for trace in recorded().values() if trace.models.target.id == made]
    steps = "".join(f"<li><b>{name}</b> {words}</li>" for name, words in STEPS)
    drawn = "".join(
        f'<div class="first-{theme}" role="region" tabindex="0" aria-label="A forest">'
        f"{forest_svg(trace, theme=theme)}</div>"
        for trace in own[:1]
        for theme in THEMES
    )
    return (
        f'<section class="about-part"><h2>The algorithm in one picture</h2><p>{NAME}</p>'
        f'<ol class="about-steps">{steps}</ol>'
        f'<div class="about-picture" translate="no">{drawn}</div><p class="said">One pass of a recorded decode. '
        "Each column is one token of the text; the marks in it are versions of that token.</p></section>"
    )


def marks() -> str:
    """Every mark beside its definition."""
    return "".join(
        f'<div><dt><svg viewBox="-1.3 -1.3 2.6 2.6" aria-hidden="true">{_shape(mark)}</svg>{name}</dt>'
        f"<dd>{words}</dd></div>"
        for mark, (name, words) in MARKS.items()
    )


def _shape(mark: str) -> str:
    style = STYLES[mark]
    paint = 'fill="currentColor"' if style.filled else 'fill="none" stroke="currentColor" stroke-width=".3"'
    return "".join(
        f'<path class="about-{theme}" d="{style.path}" {paint} style="color:{style.color(theme)}"/>' for theme in THEMES
    )


def facts() -> str:
    rows = {
        "This page": f"DSBD {__version__}, Apache-2.0",
        "Versions": f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "Licences": "The code and the bundled weights: Apache-2.0. Other models have other licences.",
    }
    return "".join(f"<div><dt>{name}</dt><dd>{escape(words)}</dd></div>" for name, words in rows.items())


def limits(engine: Engine) -> str:
    """A table of what a visitor may ask for."""
    rows = "".join(
        f'<tr><th scope="row">{escape(field.description or "")}</th><td>{_value(getattr(engine.limits, name))}</td>'
        f"<td><code>{setting(name)}</code></td></tr>"
        for name, field in type(engine.limits).model_fields.items()
    )
    table = figures_table("Limits", ("At most", "Here", "Setting of the host"), rows)
    return f'<div lang="en" translate="no">{table}</div>'


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def models(engine: Engine) -> str:
    """Return a table of the models in memory, and the card of each bundled pair."""
    rows = "".join(
        _row(engine.pairs.title(name), role, model)
        for name, pair in engine.pairs.loaded().items()
        for role, model in (("large", pair.target), ("small", pair.draft))
        if model is not None
    )
    heads = ("Pair", "Role", "Model", "Parameters", "Numbers", "Device", "Engine")
    cards = "".join(_card(TITLES[name], name.partition(":")[2]) for name in engine.pairs.names if name in CARDS)
    return figures_table("Models", heads, rows) + cards


def _row(pair: str, role: str, model: LanguageModel) -> str:
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    numbers = str(model.dtype).removeprefix("torch.")
    facts = (role, model_name(model.id), f"{parameters:,}", numbers, str(model.device), model.engine)
    cells = "".join(f"<td>{escape(fact)}</td>" for fact in facts)
    return f'<tr><th scope="row">{escape(pair)}</th>{cells}</tr>'


def _card(words: str, name: str) -> str:
    text = asset_path(f"models/{name}/README.md").read_text(encoding="utf-8")
    card = f'<div lang="en" translate="no">{card_markup(text)}</div>'
    return f"<details><summary>Model card: {escape(words)}</summary>{card}</details>"


def card_markup(text: str) -> str:
    """A model card as markup, without its links, which name files of the repository, and with smaller headings."""
    body = _LINK.sub(r"\1", markdown(_FRONT.sub("", text, count=1), asset_path("models")))
    body = body.replace("<th></th>", "<td></td>")  # an empty corner is no heading
    return _HEADING.sub(lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", body)
