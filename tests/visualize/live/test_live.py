"""The decoder in JavaScript beside Python's: with the same tables and seeds both write the same trace, which passes."""

import itertools
import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import dsbd
from dsbd.decoder import iterations
from dsbd.methods import resolve
from dsbd.models.pair import Pair
from dsbd.models.rows.forest import ForestRow
from dsbd.session import RunStart
from dsbd.tracing.recorder import Recorder
from dsbd.tracing.trace import Trace
from tests.visualize.test_javascript import run_under_node

FOLDER = Path(__file__).parent
VOCABULARY, EOS, PROMPT = 6, 5, [3, 1, 2]
NOT_SHARED = {"software", "digest", "phases", "slots_scored", "slots_kept", "kv_peak_slots", "kv_peak_bytes"}
"""Fields of a trace that differ: times, and slots, since JavaScript feeds no empty ones."""
FOLLOWS = {"acceptance_chain"}
"""Quotients of ``chain_S``, which is compared; where S is nearly 0 it has no digits left. The audit checks them."""
QUOTIENTS = ("acceptance", "residual_prob", "cdf_")
"""Numbers that were divided by S: a small S is a difference, which has lost digits."""


class Tokenizer:
    """Reads nothing, and writes ids as digits."""

    all_special_ids = (EOS,)

    def convert_ids_to_tokens(self, token: int) -> str:
        return str(token)

    def decode(self, ids: list[int], skip_special_tokens: bool = False, **_: object) -> str:
        return "".join("." if token == EOS else str(token) for token in ids if token != EOS or not skip_special_tokens)


class Slots:
    """A cache that holds nothing."""

    length = peak_bytes = 0

    def reserve(self, slots: int) -> None: ...

    def move(self, start: int, sources: list[int]) -> None:
        self.length = start + len(sources)


class TableRow(ForestRow):
    """The decoder's row over a table in place of a model: the logits follow from the last two tokens."""

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        self.cache.length += tokens.numel()

    def open(self, beams, room) -> None:
        super().open(beams, room)
        self._paths = [(PROMPT[-1], *beam.token_ids()) for beam in beams]

    def feed(self, tokens, parents, sizes) -> torch.Tensor:
        start = len(self._paths) if self._fed else 0
        self._fed += tokens.numel() + (0 if self._fed else len(self._pending))
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            self._paths.append((*self._paths[parent], token))
        self.cache.length = self._settled + self._live + self._fed
        self.forwards += 1
        self.peak_slots = max(self.peak_slots, self.cache.length)
        rows = [self.model.table[",".join(map(str, path[-2:]))] for path in self._paths[start:]]
        return torch.tensor(rows, dtype=torch.float64)


def tables(seed: int, likeness: float) -> dict[str, Any]:
    """Logits of both models after every two tokens; ``likeness`` pulls the draft's to the target's."""
    source = random.Random(seed)
    ends = [str(last) for last in range(VOCABULARY)]
    keys = [*ends, *(f"{before},{last}" for before, last in itertools.product(ends, ends))]
    target = {key: [source.gauss(0, 1.5) for _ in range(VOCABULARY)] for key in keys}
    draft = {key: [likeness * one + (1 - likeness) * source.gauss(0, 1.5) for one in target[key]] for key in keys}
    return {"target": target, "draft": draft, "eos": [EOS]}


def table_pair(given: dict[str, Any]) -> Pair:
    def model(role: str) -> Any:
        fixed = {"revision": None, "dtype": torch.float64, "device": torch.device("cpu"), "attention": "forest"}
        fixed_too = {"engine": "eager", "vocabulary_size": VOCABULARY, "new_cache": lambda slots: Slots()}
        return SimpleNamespace(id=f"tables/{role}", table=given[role], **fixed_too, **fixed)

    return Pair(model("target"), model("draft"), Tokenizer(), frozenset(given["eos"]))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch):
    """Return Python's trace of a case, as plain data."""
    for module in ("decoder", "assembly"):
        monkeypatch.setattr(f"dsbd.{module}.row_of", lambda model, start, check: TableRow(model, 0, check))
    monkeypatch.setattr("dsbd.draft._noise", noise)

    def run(case: dict[str, Any]) -> dict[str, Any]:
        recorder, settings = Recorder(), dsbd.DecodingSettings.from_dict(case["settings"])
        start = RunStart(table_pair(case["tables"]), case["prompt"]["text"], case["prompt"]["ids"], resolve(settings))
        for _ in iterations(start, [recorder]):
            pass
        return recorder.trace().to_dict()

    return run


def noise(races: int, pairs: int, generator: torch.Generator) -> np.ndarray:
    """What ``exponential_`` draws wherever torch has no generator of the processor's maker for it."""
    return -torch.log1p(-torch.rand(races, pairs, dtype=torch.float64, generator=generator)).numpy()


def under_node(*asked: str) -> list[str]:
    """The lines that ``under_node.js`` prints. Skips where node is not installed."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    done = subprocess.run(["node", str(FOLDER / "under_node.js"), *asked], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def traces_of(cases: list[dict], folder: Path) -> list[dict]:
    """JavaScript's traces."""
    (folder / "cases.json").write_text(json.dumps(cases))
    return [json.loads(line) for line in under_node("decodes", str(folder / "cases.json"))]


def assert_equal(found: Any, expected: Any, place: str = "trace") -> None:
    """Everything but the fields that differ; numbers up to rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            if key not in NOT_SHARED | FOLLOWS and "seconds" not in key and "per_second" not in key:
                assert_equal(found[key], value, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_equal(one, other, f"{place}.{number}")
    elif isinstance(expected, float) and found is not None:
        within = 1e-6 if any(f".{name}" in place for name in QUOTIENTS) else 1e-9
        assert math.isclose(found, expected, rel_tol=within, abs_tol=within), (place, found, expected)
    else:
        assert found == expected, (place, found, expected)


def case(seed: int, **settings: Any) -> dict[str, Any]:
    settings = {"max_new_tokens": 12, "seed": seed, "top_k": 0} | settings
    return {"tables": tables(seed, 0.6), "prompt": {"text": "312", "ids": PROMPT}, "settings": settings}


GRID = [
    {},
    {"top_k": 7, "temperature": 0.7},
    {"replacement": False, "top_k": 9, "temperature": 1.3, "draft_width": 4},
    {"landing": False, "draft_width": 3},
    {"min_width": 2, "max_width": 4, "width_threshold": 0.4},
    {"min_width": 3, "max_width": 3, "draft_depth": 2, "replacement": False},
    {"cover_width": 4, "draft_width": 3, "replacement": False, "top_k": 8},
    {"forest": "likely", "draft_width": 5, "top_k": 6, "temperature": 0.6, "num_beams": 2},
    {"forest": "likely", "draft_width": 8, "replacement": False},
    {"temperature": 0.0, "replacement": False, "min_width": 2, "max_width": 4},
    {"temperature": 0.0, "forest": "likely", "replacement": False, "max_width": 3, "width_threshold": 0.9},
    {"top_p": 0.7, "top_k": 10, "replacement": False, "temperature": 1.5},
    {"top_p": 0.6, "forest": "likely"},
    {"input_beams": 1},
    {"temperature": 1e-3},
    {"length_penalty": -0.5, "draft_depth": 7, "draft_width": 2},
    {"draft_depth": 0, "max_width": 3},
    {"max_new_tokens": 1},
    {"draft_width": 1, "width_threshold": 0.0},
    {"method": "beam_sampling", "replacement": False, "num_beams": 8},
    {"method": "beam_search", "num_beams": 3},
    {"method": "speculative_beam_search", "num_beams": 2, "draft_width": 3, "top_k": 5},
    {"method": "speculative", "temperature": 0.5, "top_k": 4},
    {"method": "sampling"},
    {"method": "greedy"},
]

MET = {"accepted", "rejected", "orphaned", "unneeded", "passed", "landed", "short", "bonus", "finished"}
"""Verdicts and outcomes that these decodes meet."""


def any_settings(source: random.Random) -> dict[str, Any]:
    """Settings of DSBD, whatever they are."""
    least = source.randint(1, 4)
    return {
        "draft_depth": source.randint(0, 5),
        "draft_width": source.randint(1, 9),
        "min_width": least,
        "max_width": source.choice([None, least + source.randint(0, 4)]),
        "width_threshold": source.random(),
        "replacement": source.random() < 0.5,
        "input_beams": source.choice([None, None, 1, 3]),
        "landing": source.random() < 0.7,
        "cover_width": source.choice([0, 0, 4]),
        "forest": source.choice(["sampled", "sampled", "likely"]),
        "num_beams": source.randint(1, 5),
        "temperature": source.choice([0.0, 0.3, 1.0, 1.0, 2.5]),
        "top_k": source.choice([0, 3, 8, 50]),
        "length_penalty": source.uniform(-2, 2),
        "max_new_tokens": source.randint(1, 20),
    }


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.slow)], ids=["few", "many"])
def test_both_languages_write_the_same_trace(seeds: range, decoded, tmp_path: Path) -> None:
    """Catches another law, another order of the random numbers, a field that means something else, and a digest that
    Python would not write."""
    cases = [case(seed, **settings) for settings in GRID for seed in seeds]
    cases += [case(seed, **any_settings(random.Random(seed))) for seed in range(100, 100 + 20 * len(seeds))]
    verdicts = set()
    for asked, found in zip(cases, traces_of(cases, tmp_path), strict=True):
        expected = decoded(asked)
        assert_equal(found, expected, str(asked["settings"]))
        for trace in (found, expected):
            assert dsbd.verify_trace(Trace.from_dict(trace)).failure is None, asked["settings"]
        assert found["iterations"]
        verdicts |= {trial["verdict"] for one in found["iterations"] for trial in one["trials"]}
        verdicts |= {layer["outcome"] for one in found["iterations"] for layer in one["layers"]}
    assert verdicts >= MET


@pytest.mark.slow
def test_the_decoder_keeps_the_law(tmp_path: Path) -> None:
    """Catches what the file itself names, in JavaScript alone."""
    run_under_node([FOLDER / "exact.test.js"], {}, tmp_path)


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32 + 5, 2**53 - 1])
def test_a_seed_means_the_same(seed: int) -> None:
    """Catches another generator, a seed that is read otherwise, and numbers that two draws share."""
    lines = under_node("random", str(seed))
    torch_generator = torch.Generator().manual_seed(seed)
    expected = torch.rand(2000, dtype=torch.float64, generator=torch_generator)
    assert json.loads(lines[0]) == expected.tolist()
    following = torch.rand(50, dtype=torch.float64, generator=torch_generator)
    assert json.loads(lines[1]) == pytest.approx((-torch.log1p(-following)).tolist(), rel=1e-12)


def test_the_digest_is_of_pythons_json(tmp_path: Path) -> None:
    """Catches numbers, names and texts that the two languages write in different ways."""
    source = random.Random(3)
    floats = [0.0, -0.0, 1.0, -2.0, 1e-5, 1e-4, 1.5e-7, 1e15, 1e16, 1.5e17, 1e22, 5e-324, 0.1, 1e300]
    floats += [source.gauss(0, 1) * 10.0 ** source.randint(-30, 30) for _ in range(2000)]
    texts = ["", 'a"\\/', "\x00\x1f\x7f\x80", "é漢🙂\u2028\ufeff", "\n\r\t\b\f"]
    data = {"uniform": floats, "count": [0, 1, -3, 2**53 - 1], "b": texts, "a": [None, True, {}, []], "stats": {"S": 1}}
    (tmp_path / "data.json").write_text(json.dumps(data))
    (line,) = under_node("canonical", str(tmp_path / "data.json"))
    data["uniform"] = [one + 0.0 for one in floats]
    assert line == json.dumps(data, sort_keys=True, separators=(",", ":"))
