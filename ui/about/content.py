"""The About tab as markup: the algorithm in one picture, the marks, what runs here, the limits."""

import platform
from html import escape
from importlib.metadata import version

from dsbd.version import __version__
from visualize import forest_svg
from visualize.look.states import styles

from ..decodes.first_paint import THEMES
from ..decodes.traces import opening_recording
from ..engine import Engine
from ..host.limits import setting

NAME = (
    "DSBD is dynamic-width speculative beam decoding: a small model guesses several versions of a text ahead, the "
    "large model checks them at once, and how many versions are kept changes from token to token."
)
STEPS = (
    ("Guess", "The small model guesses a forest of tokens, several tokens ahead."),
    ("Check", "The large model reads the whole forest in one pass."),
    ("Choose", "Token by token, guesses are kept or dropped, so that the text follows the law of the large model."),
    ("Keep", "Several tokens are final after one pass of the large model."),
)
MARKS = {
    "accepted": "a guess that passed its trial: its random number fell below P′/Q",
    "carried": "in a joint test: it fails alone, but passes as part of a longer text",
    "rejected": "a guess that failed its trial",
    "orphaned": "the token before it was not kept",
    "unneeded": "there were enough versions already",
    "recovered": "picked by the large model where no guess had passed",
    "fresh": "picked by the large model, to keep as many versions as planned",
    "bonus": "picked by the large model after every guess had passed",
    "cover": "a likely token, checked without a guess",
    "landed": "a pick that was also guessed: verification goes on",
}
"""Every mark of the drawings, with its definition."""
PACKAGES = ("torch", "transformers", "gradio", "plotly")


def algorithm(engine: Engine) -> str:
    """The picture: one iteration of a recorded decode, light and dark, with the four steps above it."""
    recording = opening_recording(engine.pair.target.id)
    steps = "".join(f"<li><b>{name}</b> {words}</li>" for name, words in STEPS)
    drawn = ""
    if recording is not None and len(recording):
        scene = recording.scene()
        drawn = "".join(
            f'<div class="first-{theme}" role="region" tabindex="0" aria-label="A forest">'
            f"{forest_svg(scene, theme=theme)}</div>"
            for theme in THEMES
        )
    return (
        f'<section class="about-part"><h2>The algorithm in one picture</h2><p>{NAME}</p>'
        f'<ol class="about-steps">{steps}</ol>'
        f'<div class="about-picture">{drawn}</div><p class="said">One pass of a recorded decode. Each column is '
        "one token of the text; the marks in it are versions of that token.</p></section>"
    )


def marks() -> str:
    """Every mark beside its definition."""
    return "".join(
        f'<div><dt><svg viewBox="-1.3 -1.3 2.6 2.6" aria-hidden="true">{_shape(name)}</svg>{name}</dt>'
        f"<dd>{words}</dd></div>"
        for name, words in MARKS.items()
    )


def _shape(name: str) -> str:
    style = styles()[name]
    paint = 'fill="currentColor"' if style.filled else 'fill="none" stroke="currentColor" stroke-width=".3"'
    return "".join(
        f'<path class="about-{theme}" d="{style.path}" {paint} style="color:{style.color(theme)}"/>' for theme in THEMES
    )


def facts() -> str:
    """What runs here, and under which licences."""
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
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("At most", "Here", "Setting of the host"))
    return (
        '<div class="table-holder" tabindex="0" role="region" aria-label="Limits"><table class="figures-table">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
