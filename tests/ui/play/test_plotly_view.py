"""The decode as Plotly figures on the page: drawn when opened, with frames, and clicks that open a pass."""

import json

import pytest
from playwright.sync_api import expect

from tests.ui.served import unpacked
from ui.decodes.traces import opening_recording
from ui.play.plotly_view import view_of


def test_both_figures_come_with_their_frames(recorded):
    recording = opening_recording("toy")
    figures = unpacked(view_of(recording, True))
    assert [len(figure.get("frames", [])) for figure in figures] == [0, len(recording)]
    assert json.dumps(figures[0]) != json.dumps(unpacked(view_of(recording, False))[0])


@pytest.mark.slow
def test_the_place_draws_when_it_is_opened_and_a_click_opens_a_pass(visit):
    """Catches figures that cost every visitor, a click that goes astray, and a figure of an older decode."""
    page = visit.page
    assert page.evaluate("() => document.querySelectorAll('#plotly .js-plotly-plot').length") == 0
    page.click("#plotly > button")
    page.wait_for_function("() => document.querySelectorAll('#plotly .js-plotly-plot .slider-group').length === 1")
    plots = page.locator("#plotly .js-plotly-plot")
    expect(plots).to_have_count(2)
    chosen = page.evaluate("""() => {
        const [plot] = document.querySelectorAll("#plotly .js-plotly-plot");
        const bands = plot.data[0];
        plot.emit("plotly_click", {points: [{customdata: bands.customdata[3]}]});
        return bands.customdata[3][0];
    }""")
    strip = page.locator("#forest .dsbd-strip")
    assert strip.get_attribute("aria-valuenow") == str(chosen + 1)
    assert page.locator("#plotly .modebar-btn[data-val=lasso]").count() >= 1
    visit.run("once upon a time")
    visit.wait_for("#note", "Decoded")
    page.wait_for_function("() => !document.querySelector('#plotly .plotly-mount')?.clientWidth")
    page.click("#plotly > button")
    page.wait_for_function("""() => document.querySelector("#plotly .gtitle")?.textContent
        === document.querySelector("#forest .dsbd-strip-head b").textContent""")
