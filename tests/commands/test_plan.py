"""``python -m dsbd plan``."""

import json

import pytest

from dsbd.assets import asset_path
from tests.command_line import refused, run

MODELS = asset_path("models/stories")
FOLDERS = ("--target", str(MODELS / "target"), "--draft", str(MODELS / "draft"))


def test_a_plan_as_json(capsys):
    """Catches units that the flags lose: gigabytes, and 10^12 operations."""
    figures = ("--gpu", "cpu", "--bandwidth", "32", "--flops", "0.5", "--memory", "8", "--prompt-tokens", "100")
    code, out, _ = run(capsys, "plan", "--json", *FOLDERS, *figures, "--continuations", "likely:24=0.8")
    assert code == 0
    plan = json.loads(out)
    assert (plan["device"]["bandwidth"], plan["device"]["flops"], plan["device"]["memory_bytes"]) == (32e9, 5e11, 8e9)
    assert plan["target"]["parameters"] == 12_656_896
    assert plan["prompt_tokens"] == 100
    assert plan["computed"] is True
    assert {one["forest"]: one["continuation"] for one in plan["forests"]}["likely:24"] == 0.8


def test_a_plan_to_read(capsys):
    code, out, _ = run(capsys, "plan", "--pair", "sql", "--gpu", "RTX-4090")
    assert code == 0
    for part in ("not measured", "8,265,408 parameters", "largest context", "ms/token", "given or assumed"):
        assert part in out


def test_a_prompt_beyond_the_largest_context_is_said(capsys):
    """Catches a plan that says "fits" of a decode that would be refused."""
    said = "100,064 tokens of prompt and answer, which is more than that"
    assert said in run(capsys, "plan", *FOLDERS, "--prompt-tokens", "100000")[1]
    assert "more than that" not in run(capsys, "plan", *FOLDERS, "--prompt-tokens", "20")[1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--gpu", "H1000"], "H1000"),
        (["--continuations", "likely:24"], "likely:24"),
        (["--continuation", "2"], "continuation is 2.0"),
        (["--pair", "sql", *FOLDERS], "two pairs"),
    ],
    ids=["gpu", "continuations", "continuation", "pair"],
)
def test_refusals(capsys, arguments, named):
    """Catches a traceback."""
    assert named in refused(capsys, "plan", *arguments)
