"""The models of this page, and the cards of the bundled ones, as markup."""

import re
from html import escape

from dsbd.assets import asset_path
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import BUNDLED
from visualize.pages.lesson import markdown

from ..pairs.names import model_name
from ..pairs.shelf import BUNDLED_KEYS, PairShelf
from ..parts.components import figures_table

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK = re.compile(r"<a [^>]*>(.*?)</a>", re.DOTALL)
_HEADING = re.compile(r"<(/?)h([1-6])>")


def models(pairs: PairShelf) -> str:
    """A table of the page's pair, and the card of each bundled pair that can be chosen."""
    pair = pairs.page_pair
    rows = "".join(_row(role, model) for role, model in (("Large", pair.target), ("Small", pair.draft)) if model)
    heads = ("Role", "Model", "Parameters", "Numbers", "Device", "Engine")
    keys = [key for key in map(pairs.bundled, pairs.available()) if key in BUNDLED_KEYS]
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
    text = asset_path(f"models/{name}/README.md").read_text(encoding="utf-8")
    card = f'<div lang="en" translate="no">{card_markup(text)}</div>'
    return f"<details><summary>Model card: {escape(words)}</summary>{card}</details>"


def card_markup(text: str) -> str:
    """A model card as markup, without its links, which name files of the repository, and with smaller headings."""
    body = _LINK.sub(r"\1", markdown(_FRONT.sub("", text, count=1), asset_path("models")))
    body = body.replace("<th></th>", "<td></td>")  # an empty corner is no heading
    return _HEADING.sub(lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", body)
