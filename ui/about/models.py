"""The models of this page and their cards, as markup. A card is untrusted text: nothing in it runs or is fetched."""

import re
from html import escape

from dsbd.assets import asset_path
from dsbd.errors import LessonError
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import BUNDLED
from visualize.pages.markdown import markdown

from ..pairs.names import model_name
from ..pairs.shelf import PairShelf
from ..parts.components import figures_table

MOST_CHARACTERS = 60_000
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK = re.compile(r'<a href="(?P<address>[^"]*)"[^>]*>(?P<words>.*?)</a>', re.DOTALL)
_HEADING = re.compile(r"<(/?)h([1-6])>")


def models(pairs: PairShelf) -> str:
    """A table of the page's pair, and the card of each bundled pair that can be chosen."""
    pair = pairs.page_pair
    rows = "".join(_row(role, model) for role, model in (("Large", pair.target), ("Small", pair.draft)) if model)
    heads = ("Role", "Model", "Parameters", "Numbers", "Device", "Engine")
    keys = filter(None, map(pairs.bundled, pairs.available()))
    cards = "".join(_card(pairs.words(key), key.removeprefix(f"{BUNDLED}:")) for key in keys)
    return figures_table("Models", heads, rows) + cards


def _row(role: str, model: LanguageModel) -> str:
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    facts = (
        model_name(model.id),
        f"{parameters:,}",
        str(model.dtype).removeprefix("torch."),
        str(model.device),
        model.engine,
    )
    cells = "".join(f"<td>{escape(fact)}</td>" for fact in facts)
    return f'<tr><th scope="row">{role}</th>{cells}</tr>'


def _card(words: str, name: str) -> str:
    path = asset_path(f"models/{name}/README.md")
    try:
        text = path.read_text(encoding="utf-8")[:MOST_CHARACTERS]
    except OSError:
        return ""
    return f"<details><summary>Model card: {escape(words)}</summary>{card_markup(text)}</details>"


def card_markup(text: str) -> str:
    """A model card as markup: without its HTML and pictures, with links to the web only, and with smaller headings."""
    body = _FRONT.sub("", text, count=1)
    try:
        rendered = markdown(body, asset_path("models"))
    except LessonError:  # a picture that is not here
        return f"<pre>{escape(body)}</pre>"
    rendered = _LINK.sub(_link, rendered).replace("<th></th>", "<td></td>")  # an empty corner is no heading
    return _HEADING.sub(lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", rendered)


def _link(found: re.Match[str]) -> str:
    if not found["address"].startswith(("https://", "http://")):
        return found["words"]
    return f'<a href="{found["address"]}" rel="noopener noreferrer">{found["words"]}</a>'
