"""A decode in the visitor's own browser: what the form asks of it, and what the page says instead."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

STAND_IN = """
globalThis.DsbdLive = {
  Client: class {
    constructor(base, pair) { this.pair = pair; }
    async run(asked) { globalThis.asked = {...asked, pair: this.pair}; return {kind: "stopped"}; }
  },
};
"""


def test_the_form_goes_to_the_browser_s_decoder(visit):
    """Catches a field below a closed fold that is left out, and a setting that the method does not read."""
    page, said = visit.page, visit.page.locator("#live [role=status]")
    page.route("**/live.js", lambda route: route.fulfill(body=STAND_IN, content_type="text/javascript"))
    page.click("#live button")
    expect(said).to_contain_text("A browser decodes with the bundled pairs for stories and for SQL only")
    page.evaluate("document.dispatchEvent(new Event('dsbd-no-place'))")
    expect(said).to_contain_text("Your own browser can decode it")
    visit.open_drawer()
    page.click("#models > button")
    page.get_by_label("Questions to SQL (bundled)").check()
    page.wait_for_function("document.querySelector('#prompt textarea').value.startsWith('Q:')")
    visit.set_field("seed", "5")
    visit.close_drawer()
    page.click("#live button")
    expect(said).to_have_text("Stopped.")
    asked = page.evaluate("globalThis.asked")
    assert (asked["prompt"][:2], asked["pair"], asked["settings"]["seed"]) == ("Q:", "sql", 5)
    assert (asked["settings"]["input_beams"], asked["settings"]["top_k"]) == (None, 20)
    assert "branching" not in asked["settings"]
    page.fill("#prompt textarea", "  ")
    page.click("#live button")
    expect(said).to_contain_text("The prompt is blank")
    visit.choose("method", "One text: SpecInfer")
    page.fill("#prompt textarea", "Once")
    visit.close_drawer()
    page.click("#live button")
    expect(said).to_contain_text("A browser does not decode with this method")
