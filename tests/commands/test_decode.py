"""``python -m dsbd decode``."""

import json
from dataclasses import fields

import pytest

import dsbd
from dsbd.__main__ import parser
from dsbd.commands.settings_flags import settings_of_flags
from dsbd.methods import READS
from tests.command_line import run


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_decode_prints_one_object(capsys, pair_flags, method):
    flags = ["--prompt", "Once", "--max-new-tokens", "5", "--method", method, "--json"]
    code, out, _ = run(capsys, "decode", *flags, *pair_flags)
    assert code == 0
    printed = json.loads(out)
    assert set(printed) == {"text", "token_ids", "beams", "stats", "settings", "models"}
    assert set(printed["beams"][0]) == {
        "text", "token_ids", "log_weight", "score", "finished", "multiplicity"
    }  # fmt: skip
    assert printed["token_ids"] == printed["beams"][0]["token_ids"]
    assert printed["settings"]["method"] == method
    assert printed["stats"]["new_tokens"] == len(printed["token_ids"])
    assert out.count("\n") == 1


def test_every_setting_is_a_flag(capsys, pair_flags):
    """Catches a field of DecodingSettings without a flag, and a value that does not arrive."""
    values = {
        "method": "dsbd", "max_new_tokens": 4, "draft_depth": 2, "draft_width": 3, "min_width": 2, "max_width": 5,
        "width_threshold": 0.4, "replacement": False, "input_beams": 2, "landing": False, "cover_width": 1,
        "num_beams": 2, "temperature": 0.9, "top_k": 20, "top_p": 0.95, "length_penalty": 0.5, "seed": 7,
        "forest": "sampled", "depth_costs": (1.0, 1.5, 2.0), "continuation": 0.6,
        "joint_threshold": 0.4, "block": 3, "branching": (3, 2),
    }  # fmt: skip
    assert set(values) == {field.name for field in fields(dsbd.DecodingSettings)}
    flags = ["--prompt", "Once"]
    for name, value in values.items():
        flag = name.replace("_", "-")
        flags += [f"--no-{flag}"] if value is False else [f"--{flag}", str(value).strip("()")]
    assert vars(settings_of_flags(parser().parse_args(["decode", *flags]))) == values
    code, out, _ = run(capsys, "decode", "--json", *flags, *pair_flags)
    assert code == 0
    assert {name: json.loads(out)["settings"][name] for name in READS["dsbd"]} == {
        name: list(values[name]) if isinstance(values[name], tuple) else values[name] for name in READS["dsbd"]
    }


def test_plain_decode_streams_the_text_alone(capsys, pair_flags):
    flags = ["--prompt", "Once", "--max-new-tokens", "12"]
    _, out, err = run(capsys, "decode", *flags, *pair_flags)
    _, printed, _ = run(capsys, "decode", *flags, *pair_flags, "--json")
    assert out == json.loads(printed)["text"] + "\n"
    assert "tokens/s" in err
