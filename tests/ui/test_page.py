"""The page as a whole: its endpoints, the one line for the models, and nothing from elsewhere."""

import json

from ui.parts import files
from ui.serving import launch_options


def test_public_endpoints(page):
    public = {function.api_name for function in page.fns.values() if function.api_visibility == "public"}
    assert public == {"decode", "evaluate", "explain_node", "export", "list_traces"}


def test_the_page_asks_no_one(page, engine):
    """Fonts, scripts and telemetry from elsewhere are what a page without network must not have."""
    options = launch_options(engine)
    everything = json.dumps(page.get_config_file(), default=str) + options["head"] + files.page_script()
    assert page.analytics_enabled is False
    assert str(files.viewer_assets()["plotly_js_path"]) not in everything, "a file of this machine"
    assert "fonts.googleapis" not in everything
    assert 'src="http' not in everything
    assert not [sheet for sheet in options["theme"]._stylesheets if "http" in sheet]
