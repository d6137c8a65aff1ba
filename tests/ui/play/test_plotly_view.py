"""The decode as Plotly figures on the page: drawn when opened, with frames, and clicks that open a pass."""

import pytest
from playwright.sync_api import expect

from tests.watched import UPLOAD


@pytest.mark.slow
def test_the_place_draws_when_it_is_opened_and_a_click_opens_a_pass(visit):
    """Catches figures that cost every visitor, a click that goes astray, and a figure of an older decode."""
    page = visit.page
    plots = page.locator("#plotly-figures .js-plotly-plot")
    expect(plots).to_have_count(0)
    page.get_by_role("button", name="Plotly").click()
    expect(plots).to_have_count(2)
    expect(plots.locator(".slider-group")).to_have_count(1)
    expect(page.locator("#forest")).to_be_hidden()
    chosen = page.evaluate("""() => {
        const [, plot] = document.querySelectorAll("#plotly-figures .js-plotly-plot");
        const bands = plot.data[0];
        plot.emit("plotly_click", {points: [{customdata: bands.customdata[3]}]});
        return bands.customdata[3][0];
    }""")
    expect(plots.first.locator(".gtitle")).to_have_text(f"Pass {chosen + 1}")
    expect(page.locator("#plotly-figures .modebar-btn[data-val=lasso]").first).to_be_attached()
    expect(page.locator(UPLOAD)).to_have_count(0)
    page.get_by_role("button", name="Steps").click()
    expect(page.locator("#forest .dsbd-strip")).to_have_attribute("aria-valuenow", str(chosen + 1))
    visit.run("once upon a time")
    visit.wait_for("#note", "Decoded")
    expect(plots).to_have_count(0)
    page.get_by_role("button", name="Plotly").click()
    title = page.locator("#forest .dsbd-strip-head b").text_content()
    expect(plots.last.locator(".gtitle")).to_have_text(title)
