"""What a measurement depends on."""

import torch

from dsbd.conditions import conditions
from dsbd.machine import BESIDE_THE_DECODER, PACKAGE, machine, source_digest
from tests.toy_pair import toy_pair


def test_the_digest_is_that_of_the_decoder_alone(tmp_path):
    """Catches results that cannot be continued after a change of a message, and a change of the decoder not noticed."""
    for name in ("draft.py", "law/verify.py", "measure/compare.py", "commands/bench.py", "__main__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    before = source_digest(tmp_path)
    for name in ("measure/compare.py", "commands/bench.py", "__main__.py"):
        (tmp_path / name).write_text("two")
    assert source_digest(tmp_path) == before
    seen = {before}
    for name in ("draft.py", "law/verify.py"):
        (tmp_path / name).write_text("two")
        seen.add(source_digest(tmp_path))
    assert len(seen) == 3


def test_what_is_left_out_of_the_digest_exists():
    """Catches a folder that was renamed, whose files would count as the decoder's."""
    assert all((PACKAGE / name).exists() for name in BESIDE_THE_DECODER)


def test_conditions_name_machine_versions_and_models():
    """Catches runs of two machines or models that count as comparable."""
    found = conditions(toy_pair())
    assert found == conditions(toy_pair())
    assert found["machine"] == machine(torch.device("cpu"))
    target, draft = found["models"]["target"], found["models"]["draft"]
    assert target["digest"] != draft["digest"]
    assert found["versions"]["dsbd"].endswith(source_digest())
