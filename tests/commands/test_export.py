"""``python -m dsbd export`` and ``verify-trace``."""

import json

from dsbd.commands.export import FORMATS
from dsbd.tracing.trace import Trace
from tests.command_line import run


def test_trace_verify_and_export(capsys, pair_flags, tmp_path):
    path = str(tmp_path / "t.json.gz")
    code, _, _ = run(capsys, "decode", "--prompt", "Once", "--max-new-tokens", "6", "--trace", path, *pair_flags)
    assert code == 0
    code, out, _ = run(capsys, "verify-trace", path, "--json")
    assert code == 0
    assert json.loads(out)["passed"] is True
    starts = {"html": "<!doctype html>", "svg": "<svg", "text": "pass 1"}
    assert list(starts) == list(FORMATS)
    run(capsys, "export", path, "--format", "text", "--iteration", "2", "--output", str(tmp_path / "second"))
    assert (tmp_path / "second").read_text(encoding="utf-8").startswith("Pass 2")
    for kind, start in starts.items():
        output = tmp_path / f"out.{kind}"
        code, _, _ = run(capsys, "export", path, "--format", kind, "--output", str(output))
        assert code == 0
        assert output.read_bytes().lower().startswith(start.encode())
    data = Trace.load(path).to_dict()
    data["result"]["text"] = "forged"
    (tmp_path / "forged.json").write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify-trace", str(tmp_path / "forged.json"))
    assert code == 1
    assert "does not follow" in out
    (tmp_path / "damaged.json").write_text("{")
    for kind in FORMATS:
        output = tmp_path / f"none.{kind}"
        code, _, said = run(capsys, "export", str(tmp_path / "damaged.json"), "--format", kind, "--output", str(output))
        assert (code, output.exists(), len(said.strip().splitlines())) == (2, False, 1)
