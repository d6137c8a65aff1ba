"""The page as a whole: it builds, offers three endpoints, lets one decode in at a time, and names bad models."""

import json

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

import app
from ui import launch_options
from ui.parts import files


def test_public_endpoints(page):
    public = {function.api_name for function in page.fns.values() if function.api_visibility == "public"}
    assert public == {"decode", "compare", "evaluate", "explain_node", "export", "list_traces"}


def test_one_decode_at_a_time(page):
    """Everything that uses the models waits in one line."""
    in_line = [function for function in page.fns.values() if function.concurrency_id == "gpu"]
    assert len(in_line) == 7
    assert {function.concurrency_limit for function in in_line} == {1}


def test_the_page_asks_no_one(page, engine):
    """Fonts, scripts and telemetry from elsewhere are what a page without network must not have."""
    options = launch_options(engine)
    everything = json.dumps(page.get_config_file(), default=str) + options["head"] + files.page_script()
    assert page.analytics_enabled is False
    assert "fonts.googleapis" not in everything
    assert 'src="http' not in everything
    assert not [sheet for sheet in options["theme"]._stylesheets if "http" in sheet]


def test_no_file_of_this_machine_is_named(page, engine):
    everything = json.dumps(page.get_config_file(), default=str) + launch_options(engine)["head"] + files.script_tags()
    assert str(files.viewer_assets()["plotly_js_path"]) not in everything


@pytest.fixture(scope="module")
def client(address):
    return Client(address, verbose=False)


def test_decode_through_the_page(client):
    answer = client.predict("Once upon", {"max_new_tokens": 5}, api_name="/decode")
    assert 1 <= len(answer["token_ids"]) <= 5
    assert client.predict("Once upon", {"max_new_tokens": 5}, api_name="/decode")["text"] == answer["text"]


def test_bad_settings_through_the_page(client):
    with pytest.raises(AppError, match="draft_depth"):
        client.predict("Once upon", {"draft_depth": 99}, api_name="/decode")


def test_compare_through_the_page(client):
    result = client.predict("Once", ["sampling"], 1, {"max_new_tokens": 4}, api_name="/compare")
    assert result["methods"][0]["method"] == "sampling"


def test_a_bad_model_is_one_line_and_exit_code_two(capsys):
    assert app.main(["--target", "./there-is-no-such-model"]) == 2
    said = capsys.readouterr()
    assert len(said.err.strip().splitlines()) == 1
    assert "there-is-no-such-model" in said.err


def test_a_bad_device_is_one_line_and_exit_code_two(capsys):
    assert app.main(["--device", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err
