"""A model in two processes (tensor parallelism) decodes as it does in one."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import dsbd
from dsbd.errors import ModelError, PairError
from dsbd.models.language_model import LanguageModel
from dsbd.models.ranks import Ranks, ranks_of
from tests.toy_pair import read_settings, toy_model, toy_pair

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "One day"
FIELDS = {"max_new_tokens": 10, "draft_depth": 2, "draft_width": 3, "seed": 3}
SETTINGS = dsbd.DecodingSettings(**FIELDS)
MODES = {
    "defaults": SETTINGS,
    "likely": replace(SETTINGS, forest="likely", replacement=False),
    "beam_sampling": read_settings("beam_sampling", **FIELDS),
    "speculative": read_settings("speculative", **FIELDS),
}


def outcome(result) -> list:
    """Return what two decodes must share: the ids of all beams, and their log-weights."""
    return [[beam.token_ids, round(beam.log_weight, 9)] for beam in result.beams]


@pytest.fixture(scope="module")
def found(toy_folders) -> dict:
    """Return what the first of two processes reported."""
    program = [str(ROOT / "tests/models/in_ranks.py"), *toy_folders.values()]
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run([*launch, *program], capture_output=True, text=True, env=environment, timeout=600)
    assert ended.returncode == 0, ended.stderr[-3000:]
    lines = ended.stdout.splitlines()
    assert len(lines) == 1, lines
    return json.loads(lines[0])


@pytest.mark.slow
def test_two_processes_decode_as_one(found, toy_folders):
    """Catches logits that are joined wrongly, processes that draw separately or go on with different beams, a model
    that every process loads whole, an engine that leaves the messages out, an answer to ``stop`` that one process keeps
    for itself, and a report from each of them."""
    pair = dsbd.load_pair(*toy_folders.values(), device="cpu", dtype="float64", engine="eager")
    assert pair.ranks is None
    assert pair.reports
    for mode, settings in MODES.items():
        assert found["decoded"][mode] == outcome(dsbd.decode(pair, PROMPT, settings)), mode
    assert found["mixed"] == found["decoded"]["defaults"]
    assert found["recorded"]
    assert found["heads"] == [1]  # of two
    assert found["engines"] == ["eager", "eager", "traced"]
    assert ["processes join its parts" in line for line in found["fallbacks"]] == [True, True]
    assert "stop() returned True" in found["stopped"]
    assert "differ in prompt or settings" in found["other seeds"]


class Alone:
    """Stands for ranks: notes what they would compare, and counts the logits that they would share."""

    number, count = 0, 1

    def __init__(self) -> None:
        self.compared, self.shared = {}, 0

    def of_first(self, numbers):
        self.shared += 1
        return numbers

    def require_equal(self, what, value) -> None:
        self.compared[what] = value


def test_every_forward_is_shared_and_every_iteration_compared():
    """Catches a row that keeps its logits, beams that are compared at the end only, too late for a forward, and two
    seeds that count as the same."""
    seen = []
    for seed in (3, 4):
        ranks = Alone()
        result = dsbd.decode(replace(toy_pair(), ranks=ranks), PROMPT, replace(SETTINGS, seed=seed))
        prompts = 2  # their forwards return no logits that are used
        assert ranks.shared == result.stats.target_calls + result.stats.draft_calls - prompts
        numbers = range(1, result.stats.iterations + 1)
        names = ["prompt or settings", *(f"the beams of iteration {number}" for number in numbers), "the result"]
        assert list(ranks.compared) == names
        assert ranks.compared["the result"] == result.token_ids
        _, beams = ranks.compared["the beams of iteration 1"]
        assert all(ids and count >= 1 for ids, count in beams)
        seen.append(ranks.compared["prompt or settings"])
    assert seen[0][0] == seen[1][0] == toy_pair().encode(PROMPT)
    assert seen[0] != seen[1]


class Together:
    """Stands for ``torch.distributed`` between threads, each of which is a process: what one sends reaches all."""

    def __init__(self, count: int) -> None:
        self.count, self.numbers = count, {}
        self._all, self._sent = threading.Barrier(count, timeout=60), {}

    def get_rank(self) -> int:
        return self.numbers[threading.get_ident()]

    def get_world_size(self) -> int:
        return self.count

    def new_group(self, backend: str) -> str:
        return backend

    def broadcast(self, tensor, src, group=None) -> None:
        found = [None] * self.count
        self.all_gather(found, tensor.clone(), group)
        tensor.copy_(found[src])

    def all_gather(self, found, mine, group=None) -> None:
        self._sent[self.get_rank()] = mine
        self._all.wait()
        found[:] = [self._sent[number] for number in range(self.count)]
        self._all.wait()

    def run(self, what) -> list:
        """Return what each process makes of its ranks."""

        def one(number: int):
            self.numbers[threading.get_ident()] = number
            return what(Ranks())

        with ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(one, range(self.count)))


@pytest.fixture
def together(monkeypatch) -> Together:
    made = Together(3)
    for name in ("get_rank", "get_world_size", "new_group", "broadcast", "all_gather"):
        monkeypatch.setattr(torch.distributed, name, getattr(made, name))
    return made


def test_the_first_of_three_decides(together):
    """Catches numbers or an answer of another process, and a view of a transposed tensor."""

    def decided(ranks):
        mine = torch.full((3, 2), float(ranks.number), dtype=torch.bfloat16).t()
        asked = []
        stop = ranks.agreed(lambda: asked.append(1) or len(asked) == 2)
        return ranks.of_first(mine).tolist(), [stop(), stop(), stop()], len(asked)

    first, *others = together.run(decided)
    assert first == ([[0.0] * 3] * 2, [False, True, False], 3)
    assert others == [([[0.0] * 3] * 2, [False, True, False], 0)] * 2


def test_all_of_three_see_that_one_differs(together):
    """Catches a process that compares with its neighbour only, or that raises while the others wait."""

    def compared(ranks):
        ranks.require_equal("nothing", "same")
        with pytest.raises(ModelError, match=r"3 processes .* they differ in the end"):
            ranks.require_equal("the end", ranks.number == 2)
        return ranks.number

    assert together.run(compared) == [0, 1, 2]


class Spread:
    """Stands for a model that transformers spread over two processes."""

    def __init__(self, heads: int, processes: int) -> None:
        self.config = toy_model(1, 1).config
        self.config.num_key_value_heads = heads
        self.tp_size = processes


def test_what_the_processes_cannot_share_is_refused(monkeypatch):
    """Catches a view of the wrong size deep in a model."""
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    with pytest.raises(PairError, match="2 key-value heads, which 4 processes cannot share"):
        ranks_of([LanguageModel(Spread(2, 4), "toy")])
    with pytest.raises(PairError, match=r"over 2 of 4 processes; .* leave tp_size out"):
        ranks_of([LanguageModel(Spread(4, 2), "toy")])
    assert ranks_of([LanguageModel(toy_model(1, 1), "toy")]) is None
