"""What a host sets: one table of all settings, held against the code, names that are none, ports and addresses."""

import re
import socket
from pathlib import Path

import pytest
from ui.host.environment import setting
from ui.host.limits import Limits
from ui.host.listening import host_of, is_private, port_of
from ui.host.options import OF_THE_DECODER, OF_THE_PAIR, Host, check_names, setting_names

from dsbd.errors import SettingsError
from tests.command_line import refused, run

ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| `(DSBD_\w+)` \| ([^|]+) \| ?([^|]*?) ?\|$", re.M)


def written(default: object) -> str:
    """A default as the table writes it."""
    if isinstance(default, bool):
        return str(int(default))
    return f"{default:,}" if isinstance(default, int) else str(default)


def test_the_table_of_settings_is_the_code():
    """Catches a setting that nobody can find, one that is gone, and a default that has changed."""
    rows = ROW.findall((ROOT / "docs" / "hosting.md").read_text(encoding="utf-8"))
    fields = {**Host.model_fields, **Limits.model_fields}
    expected = {setting(name): (what, "") for name, what in (OF_THE_PAIR | OF_THE_DECODER).items()}
    expected |= {setting(name): (field.description, written(field.default)) for name, field in fields.items()}
    assert {name: (what, default) for name, what, default in rows} == expected
    assert len(rows) == len(expected) == len(setting_names())


def test_every_setting_that_is_named_anywhere_exists():
    """Catches a setting that the code reads past the table, and a page that names one that is gone."""
    texts = [*(ROOT / "ui").rglob("*.py"), ROOT / "app.py", ROOT / "dsbd" / "commands" / "page.py", ROOT / "Dockerfile"]
    for file in [*texts, *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        if file.name != "CHANGELOG.md":
            named = set(re.findall(r"DSBD_[A-Z][A-Z_]*", file.read_text(encoding="utf-8")))
            assert named <= set(setting_names()), file.name


def test_a_slip_in_a_name_is_said_with_the_closest_setting():
    """Catches a limit that somebody believes in and the page does not have."""
    with pytest.raises(SettingsError, match="DSBD_LOGS is no setting of the page; the closest is DSBD_LOG;"):
        check_names({"DSBD_LOGS": "1", "DSBD_MAX_BEAMS": "3", "HOME": "/"})
    check_names({"HOME": "/", "DSBDX": "1", "MY_DSBD_X": "1", **dict.fromkeys(setting_names(), "")})


def test_a_word_that_is_no_setting_is_said_with_those_that_are():
    with pytest.raises(SettingsError, match=r"^DSBD_LOG is 'loud' \(.*\); allowed are info, warning, off$"):
        Host.from_environment({"DSBD_LOG": "loud"})
    assert Host.from_environment({"DSBD_LOG": "off", "DSBD_MCP": "1"}) == Host(log="off", mcp=True)


PORTS = "allowed are whole numbers from 1 to 65,535; leave it out"


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        ([], {"DSBD_X": "1"}, "DSBD_X is no setting"),
        *((["--port", port], {}, f"--port is {port!r}; {PORTS}") for port in ("99999", "", "７８６０")),
        *(([], {"GRADIO_SERVER_PORT": port}, f"GRADIO_SERVER_PORT is {port!r}; {PORTS}") for port in ("99999", "")),
        (["--host", "192.0.2.1"], {}, "the page cannot listen on '192.0.2.1', port"),
        ([], {"GRADIO_SERVER_NAME": "x" * 300}, f"the page cannot listen on {'x' * 60!r}, port"),
    ],
    ids=lambda value: "",
)
def test_what_a_page_cannot_start_with_is_one_line_before_any_model_is_loaded(
    monkeypatch, capsys, flags, environment, said
):
    """Catches a traceback out of Gradio, which takes the setting for a number as soon as it is imported, and a message
    about a taken port where the address is not one of this machine."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert said in refused(capsys, "page", *flags)


def test_a_taken_port_is_one_line_and_exit_code_two(capsys):
    """Catches a page that says so only after it has loaded its models."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(capsys, "page", "--host", "127.0.0.1", "--port", str(port))
    assert f"the page cannot be served: port {port} is taken; choose another --port or --host" in said


def test_a_host_or_port_of_this_machine_is_taken():
    for host in (None, "", "127.0.0.1", "localhost", "0.0.0.0"):
        assert host_of(host, {"GRADIO_SERVER_NAME": "0.0.0.0"}) == ("0.0.0.0" if host is None else host)
    assert port_of("8000", {"GRADIO_SERVER_PORT": "7861"}) == 8000
    assert port_of(None, {"GRADIO_SERVER_PORT": "7861"}) is port_of(None, {}) is None


def test_a_page_that_others_reach_is_not_private():
    """Catches a page behind another server that refuses the name of that server, or lets strangers load any model."""
    assert all(is_private(host, False, {}) for host in ("", "localhost", "127.0.0.1", "[::1]", "::1"))
    for name in ("SPACE_ID", "GRADIO_ROOT_PATH", "FORWARDED_ALLOW_IPS"):
        assert not is_private("", False, {name: "x"})
    assert not is_private("", True, {})
    assert not is_private("0.0.0.0", False, {})


@pytest.mark.parametrize(("flag", "value"), [("--target", "./there-is-no-such-model"), ("--device-map", "diagonal")])
def test_a_bad_model_or_device_is_one_line_and_exit_code_two(capsys, flag, value):
    code, _, said = run(capsys, "page", flag, value)  # the door has told where the page will be
    assert (code, len(said.strip().splitlines())) == (2, 1)
    assert value.strip("./") in said
