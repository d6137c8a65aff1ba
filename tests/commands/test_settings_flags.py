"""The values of settings as they are typed: the same text is the same value for every command."""

from dataclasses import fields

import pytest

from dsbd.__main__ import parser
from dsbd.commands.contender_flags import contenders_of
from dsbd.commands.settings_flags import HELP, settings_of_flags, value_of_text
from dsbd.settings import DecodingSettings
from tests.command_line import refused

TYPED = [
    ("draft_depth", "3", 3),
    ("draft_depth", "Auto", "auto"),
    ("forest", "auto", "auto"),
    ("max_width", "None", None),
    ("temperature", "1e-1", 0.1),
    ("width_weights", "1:0:2", (1.0, 0.0, 2.0)),
    ("branching", "3x2", (3, 2)),
]


@pytest.mark.parametrize(("name", "text", "value"), TYPED)
def test_a_text_is_one_value_in_every_command(name, text, value):
    """Catches a command that reads a setting in another way."""
    flag = f"--{name.replace('_', '-')}={text}"
    assert value_of_text(name, text) == value
    decoded = settings_of_flags(parser().parse_args(["decode", "--prompt", "x", flag]))
    assert getattr(decoded, name) == value
    reader = {"width_weights": "random_width", "branching": "specinfer"}.get(name, "dsbd")
    measured = contenders_of(parser().parse_args(["bench", "--methods", reader, flag]))
    assert [getattr(one.settings, name) for one in measured] == [value]


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("draft-depth", "deep", "draft_depth is 'deep'; allowed are whole numbers from 0 to 32 or auto"),
        ("temperature", "hot", "temperature is 'hot'; allowed are numbers from 0 to 100"),
        ("width-weights", "a:b", "width_weights is 'a:b'; allowed are None, or 1 to 64 numbers from 0"),
        ("seed", "z" * 5000, f"seed is '{'z' * 80}'; allowed are whole numbers from 0 to"),
    ],
    ids=lambda text: text[:9],
)
@pytest.mark.parametrize("command", [("decode", "--prompt", "x"), ("bench", "--methods", "greedy")], ids=" ".join)
def test_what_cannot_be_read_is_refused_with_what_is_allowed(capsys, command, name, text, allowed):
    """Catches a message that only says that it is wrong, and one that comes only if a method reads the setting."""
    assert refused(capsys, *command, f"--{name}={text}").startswith(f"dsbd: {allowed}")


def test_the_help_says_what_each_setting_is():
    assert list(HELP) == [field.name for field in fields(DecodingSettings)]
