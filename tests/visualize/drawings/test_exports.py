"""Text, SVG and HTML are complete and well-formed, and no token becomes markup in them."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import visualize
from tests.visualize.nasty import NASTY, nasty_trace
from tests.visualize.toy import toy_trace
from visualize.pages.document import embedded_json
from visualize.viewer.bundle import viewer_assets

TRACE = toy_trace()


@pytest.mark.parametrize("trace", [TRACE, nasty_trace()], ids=["toy", "nasty"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_svg_is_well_formed_and_has_every_label(trace, theme):
    root = ElementTree.fromstring(visualize.forest_svg(trace, 1, theme=theme))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = "".join(root.itertext())
    for node in visualize.scene(trace).iterations[1].nodes:
        assert node.label in texts
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "g", "title", "rect", "path", "text", "circle"}


def test_text_names_every_node_with_its_verdict():
    text = visualize.forest_text(TRACE, 1)
    for node in visualize.scene(TRACE).iterations[1].nodes:
        assert node.token in text
    assert "├─ ␣fox | rejected | large model 0.012 | small model 0.095 | rejected. Its chance was 0.13; the ran" in text
    assert visualize.forest_text(TRACE).count("Pass ") == 7
    assert "\x00" not in visualize.forest_text(nasty_trace())


def test_embedded_json_cannot_end_its_script_and_reads_back():
    data = {"texts": NASTY[:-1], "number": 0.5}
    text = embedded_json(data)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == data


def test_the_module_exports_mount_alone_and_the_style_sheet_stays_below_its_root():
    assets = viewer_assets()
    assert re.findall(r"^export (?:function )?(\w+)", assets["js"], re.M) == ["mount"]
    assert not re.search(r"^(?:export|import) ", assets["js_classic"], re.M)
    assert "globalThis.DsbdViewer = {mount};" in assets["js_classic"]
    assert "innerHTML" not in assets["js"]
    frames = r"@keyframes dsbd-[a-z]+ \{( *(from|to|\d+%) \{[^{}]*\})+ \}"  # stages of an animation are no selectors
    rules = re.sub(frames, "", re.sub(r"/\*.*?\*/", "", assets["css"], flags=re.S))
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{", rules) for one in rule.split(",")]
    own = (".dsbd", "@"), ("reduce)", "active)")
    assert [one for one in selectors if not one.startswith(own[0]) and not one.endswith(own[1])] == []
