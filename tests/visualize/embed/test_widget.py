"""The notebook widget: the same viewer, stepped from both sides, and a clear error if anywidget is missing."""

import json
import sys

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import hostile_marks, served, visit
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of

TRACE = toy_trace()
SCENE = scene_of("toy")
HOST = """<!doctype html><meta charset="utf-8"><style>{css}</style><div id="el"></div>
<script id="state" type="application/json">{state}</script><script type="module">
import widget from "{esm}";
const heard = {{}}, state = JSON.parse(document.getElementById("state").textContent);
window.model = {{
  saved: 0,
  get: (name) => state[name], set: (name, value) => {{ state[name] = value; }}, save_changes() {{ this.saved++; }},
  on: (event, act) => (heard[event] ??= new Set()).add(act), off: (event, act) => heard[event]?.delete(act),
  tell: (event, ...values) => [...(heard[event] ?? [])].forEach((act) => act(...values)),
  async send(content) {{ this.tell("msg:custom", await askPython(content)); }},
}};
window.end = await widget.render({{model, el: document.getElementById("el")}});
</script>"""
"""The part of a notebook front end that the widget needs."""


def write_host(tmp_path, made):
    """Write a page with the widget."""
    (tmp_path / "widget.js").write_text(made._esm if isinstance(made._esm, str) else str(made._esm), encoding="utf-8")
    state = json.dumps({"scene": made.scene, "it": made.it, "step": made.step}).replace("<", "\\u003c")
    (tmp_path / "host.html").write_text(HOST.format(css=made._css, state=state, esm="./widget.js"), encoding="utf-8")


@pytest.mark.slow
def test_python_and_reader_step_together(browser, tmp_path):
    """Catches a widget that does not draw, does not follow Python, or does not report the reader's steps."""
    pytest.importorskip("anywidget", reason="runs wherever anywidget is installed")
    made = visualize.widget(TRACE, it=1, step=2)
    sent = []
    made.send = sent.append
    write_host(tmp_path, made)

    def ask(content):
        made._answer(made, content, [])
        return sent[-1]

    with served(tmp_path) as address, visit(browser, "about:blank") as seen:
        page = seen.page
        page.expose_function("askPython", ask)
        page.goto(address + "host.html")
        (frame,) = seen.drawn()
        says = ".dsbd-sentence"
        assert frame.inner_text(says) == SCENE.iterations[1].steps[2].sentence
        page.focus(".dsbd")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("() => [model.get('it'), model.get('step')]") == [1, 3]
        assert page.evaluate("() => model.saved") == 1
        page.evaluate("() => { model.set('it', 0); model.set('step', 4); model.tell('change:it'); }")
        assert frame.inner_text(says) == SCENE.iterations[0].steps[4].sentence
        page.evaluate("scene => { model.set('scene', scene); model.tell('change:scene'); }",
                      json.loads(json.dumps(visualize.scene_json(visualize.scene(nasty_trace())))))  # fmt: skip
        assert hostile_marks(frame) == 0
        page.evaluate("() => end()")
        expect(page.locator(".dsbd")).to_have_count(0)
        assert [url for url in seen.outside if not url.startswith(address)] == []
        assert [error for error in seen.errors if "404" not in error] == []


def test_without_anywidget_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "visualize.embed.widget_class", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'dsbd\[widget\]'"):
        visualize.widget(TRACE)


def test_a_saved_notebook_keeps_a_picture():
    """Catches a saved page with nothing in the place of the widget."""
    pytest.importorskip("anywidget", reason="runs wherever anywidget is installed")
    data, _ = visualize.widget(TRACE, it=1)._repr_mimebundle_()
    assert data["image/svg+xml"] == visualize.forest_svg(TRACE, 1)
    assert data["text/html"].startswith("<img alt=")
    assert "application/vnd.jupyter.widget-view+json" in data
