"""``python -m dsbd doctor``."""

import json

import pytest

from tests.command_line import run


@pytest.mark.slow
def test_doctor(capsys, pair_flags):
    code, out, _ = run(capsys, "doctor", "--json", *pair_flags)
    assert code == 0
    report = json.loads(out)
    assert report["checks"]["target"]["passed"] is True
    assert report["target_forward_milliseconds"]["1"] > 0
    assert report["advice"]
