"""The forest as text is complete, and the viewer's module and style sheet keep to themselves."""

import re

import visualize
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize.viewer.bundle import viewer_assets

TRACE = toy_trace()


def test_text_names_every_node_with_its_verdict():
    text = visualize.forest_text(TRACE, 1)
    for node in visualize.scene(TRACE).iterations[1].nodes:
        assert node.token in text
    assert "├─ ␣fox | rejected | large model 0.012 | small model 0.095 | rejected. Its chance was 0.13; the ran" in text
    assert visualize.forest_text(TRACE).count("Pass ") == 7
    assert "\x00" not in visualize.forest_text(nasty_trace())


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
