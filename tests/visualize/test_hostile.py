"""No token becomes markup: not in an SVG, not in a figure, not in the JSON of a page."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import visualize
from tests.visualize.nasty import NASTY, nasty_trace
from visualize.pages.document import embedded_json

TRACE = nasty_trace()
OWN_MARKUP = re.compile(r"<b>((Token|Free token) \d+|−?[\d.]+)</b>|<br>|</?extra>")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_svg_is_well_formed_and_has_every_label(theme):
    forest = visualize.forest_svg(TRACE, 1, theme=theme)
    tags = {element.tag.split("}")[1] for element in ElementTree.fromstring(forest).iter()}
    assert tags <= {"svg", "g", "title", "rect", "path", "text"}
    texts = "".join(ElementTree.fromstring(forest).itertext())
    assert all(node.label in texts for node in visualize.scene(TRACE).iterations[1].nodes)


def texts_of(part):
    """Return every string of a figure that Plotly reads as its pseudo-HTML."""
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return [text for one in parts for text in texts_of(one)]


@pytest.mark.parametrize(
    "figure",
    [
        visualize.forest_figure(TRACE, "all"),
        visualize.decode_figure(TRACE, language="ar"),
    ],
    ids=["forest", "decode"],
)
def test_figures_show_tokens_as_text(figure):
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    texts = texts_of([plain["data"], plain["layout"]])
    assert any("&lt;" in text for text in texts)
    assert [text for text in texts if "<" in OWN_MARKUP.sub("", text)] == []


def test_embedded_json_cannot_end_its_script_and_reads_back():
    data = {"texts": NASTY[:-1], "number": 0.5}
    text = embedded_json(data)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == data
