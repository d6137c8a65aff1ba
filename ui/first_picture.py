"""The first paint: the forest of a recording, drawn on the server: nothing is empty while scripts load.

It stands in a template, which Gradio reads for ``${…}`` and ``{{…}}``: those signs are written as references.
"""

from html import escape

from visualize import forest_svg
from visualize.look.states import Theme

from .recording import Recording

SIGNS = {"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\\": "&#92;", "@": "&#64;"}
THEMES: tuple[Theme, Theme] = ("light", "dark")


def first_picture(recording: Recording | None) -> str:
    """Markup: the first iteration, light and dark; the style sheet shows one. Empty where nothing is recorded."""
    if recording is None or not len(recording):
        return ""
    scene = recording.scene()
    drawn = "".join(f'<div class="first-{theme}">{forest_svg(scene, theme=theme)}</div>' for theme in THEMES)
    words = escape(scene.iterations[0].steps[0].sentence)
    return f'<div class="first-picture"><p>{in_template(words)}</p>{in_template(drawn)}</div>'


def in_template(markup: str) -> str:
    """The same markup where Gradio reads a template."""
    return "".join(SIGNS.get(sign, sign) for sign in markup)
