"""What a host sets: one table of all settings, held against the code, and names that are none."""

import re
from pathlib import Path

import pytest

import app
from dsbd.errors import SettingsError
from ui.host.environment import setting
from ui.host.limits import Limits
from ui.host.options import OF_THE_DECODER, OF_THE_PAIR, Host, check_names, setting_names

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
    files = [
        *(ROOT / "ui").rglob("*.py"),
        ROOT / "app.py",
        ROOT / "Dockerfile",
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
    ]
    for file in files:
        if file.exists() and file.name != "CHANGELOG.md":
            named = set(re.findall(r"DSBD_[A-Z][A-Z_]*", file.read_text(encoding="utf-8")))
            assert named <= set(setting_names()), file.name


@pytest.mark.parametrize(
    ("given", "closest"),
    [("DSBD_MAX_NODE", "DSBD_MAX_NODES"), ("DSBD_TARGETS", "DSBD_TARGET"), ("DSBD_LOGS", "DSBD_LOG")],
)
def test_a_slip_in_a_name_is_said_with_the_closest_setting(given, closest):
    """Catches a limit that somebody believes in and the page does not have."""
    with pytest.raises(SettingsError, match=f"{given} is no setting of the page; the closest is {closest};"):
        check_names({given: "1", "DSBD_MAX_BEAMS": "3", "HOME": "/"})


def test_settings_of_others_are_left_alone():
    check_names({"HOME": "/", "DSBDX": "1", "MY_DSBD_X": "1", **dict.fromkeys(setting_names(), "")})


@pytest.mark.parametrize(("name", "value"), [("DSBD_LOG", "loud"), ("DSBD_MAX_NODES", "many"), ("DSBD_X", "1")])
def test_a_wrong_setting_is_one_line_before_any_model_is_loaded(monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    assert app.main([]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert name in said


def test_what_a_host_may_set():
    assert Host.from_environment({"DSBD_LOG": "off", "DSBD_SSR": "1"}) == Host(log="off", ssr=True)
    assert Host.from_environment({}) == Host()
