"""``--memory``: a prompt beyond the context is read, and a folder that is no memory of the target is one sentence."""

import json

import pytest

from dsbd.memory.files import save_memory
from tests.command_line import refused, run
from tests.memory.toys import random_network
from tests.toy_pair import toy_model

LONG = "In a big wood there lived a small bear who did not like honey at all. " * 3
DECODE = ["decode", "--max-new-tokens", "5", "--prompt", LONG]


@pytest.fixture
def memory(tmp_path):
    """Return the folder of a memory of the toy target."""
    save_memory(tmp_path / "memory", random_network(32, segment_tokens=24), {}, toy_model(1, 2), "toy/target")
    return tmp_path / "memory"


def test_a_long_prompt_is_read_and_the_command_says_so(capsys, pair_flags, memory):
    """Catches a flag that does not arrive, and a law that is changed in silence."""
    code, out, err = run(capsys, *DECODE, "--json", *pair_flags, "--memory", str(memory))
    assert (code, len(json.loads(out)["token_ids"])) == (0, 5)
    assert err == "dsbd: the prompt of 210 tokens is read in 9 segments; the law is p(. | memory)\n"
    code, _, err = run(capsys, "decode", "--prompt", "Once", "--json", *pair_flags, "--memory", str(memory))
    assert (code, err) == (0, "")
    assert "prompt of 210 tokens plus max_new_tokens 5 exceeds the context" in refused(capsys, *DECODE, *pair_flags)
