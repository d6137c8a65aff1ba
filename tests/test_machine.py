"""What a measurement depends on."""

import torch

from dsbd.machine import machine, source_digest
from dsbd.models.pair import conditions
from tests.toy_pair import toy_pair


def test_conditions_name_machine_versions_and_models(tmp_path):
    """Catches runs of two machines, models or versions of the source that count as comparable."""
    found = conditions(toy_pair())
    assert found == conditions(toy_pair())
    assert found["machine"] == machine(torch.device("cpu"))
    assert found["models"]["target"]["digest"] != found["models"]["draft"]["digest"]
    assert found["versions"]["dsbd"].endswith(source_digest())
    seen = set()
    for text in ("one", "two"):
        (tmp_path / "law.py").write_text(text)
        seen.add(source_digest(tmp_path))
    assert len(seen) == 2
