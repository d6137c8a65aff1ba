"""``python -m dsbd plan``."""

import json

from dsbd.assets import asset_path
from tests.command_line import run

MODELS = asset_path("models/stories")
FOLDERS = ("--target", str(MODELS / "target"), "--draft", str(MODELS / "draft"))


def test_a_plan_as_json(capsys):
    """Catches gigabytes that are taken for bytes."""
    code, out, _ = run(capsys, "plan", "--json", *FOLDERS, "--memory", "8", "--prompt-tokens", "100")
    assert code == 0
    plan = json.loads(out)
    assert (plan["memory"], plan["prompt_tokens"], plan["fits"]) == (8e9, 100, True)
    assert plan["target"]["parameters"] == 12_656_896


def test_a_plan_to_read(capsys):
    code, out, _ = run(capsys, "plan", "--pair", "sql", "--memory", "24")
    assert code == 0
    for part in ("not measured", "8,265,408 parameters", "largest context", "Not known"):
        assert part in out


def test_a_prompt_beyond_the_largest_context_is_said(capsys):
    """Catches a plan that says "fits" of a decode that would be refused."""
    said = "100,064 tokens of prompt and answer, which is more than that"
    assert said in run(capsys, "plan", *FOLDERS, "--memory", "80", "--prompt-tokens", "100000")[1]
    assert "more than that" not in run(capsys, "plan", *FOLDERS, "--memory", "80", "--prompt-tokens", "20")[1]
