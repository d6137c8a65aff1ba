"""Runs the JavaScript's tests, ``*.test.js`` beside these, under node, with what Python says to their questions."""

import itertools
import json
import os
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from types import SimpleNamespace

import pytest

import visualize
from dsbd.errors import TraceError
from dsbd.tracing.records import Piece
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_traces
from tests.verification.oracle import Process, Warp, Weighted
from tests.visualize.traces import NASTY, nasty_trace, remembered, scene, trace_of
from visualize.forest import text_of
from visualize.tokens import decode_piece, flowing, hex_bytes, piece_label, shorten, visible
from visualize.viewer.bundle import joined, viewer_assets
from visualize.words import known_languages, number, plural_category

FOLDER = Path(__file__).parent
GONE = ("block", "chance", "ruled")
ASSETS = FOLDER.parents[1] / "assets"
BYTES = ["f09fa6", "8a", "f0", "9fa68a", "e4bd", "a0", "e4bda0", "c3", "ff", "e080", "eda080", "f490", "efbbbf",
         "e4bde4", "c3a9f0", "00", "efbb", "bf", "f0908080f0", "80", "0ac3"]  # fmt: skip
TEXTS = [*NASTY, "", " ", "\n", "\t x\r", "\ufeff２", "漢字漢字漢字漢字", "שלום", "a" * 15]
PAIR = json.loads((ASSETS / "lessons" / "three-words.json").read_text(encoding="utf-8"))
ZEROS = {"words": ["red", "blue"], "prompt": "red", "layers": 2,
         "target": {"": [0.0, 1.0], "0": [0.5, 0.5], "1": [0.25, 0.75]},
         "draft": {"": [0.5, 0.5], "0": [1.0, 0.0], "1": [1.0, 0.0]}}  # fmt: skip
"""Tables of a lab."""


def run_under_node(files: list[Path], given: dict, folder: Path) -> None:
    """Run test files with ``given``, or skip. Raises: AssertionError with what node tells of the failures."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "given.json").write_text(json.dumps(given, default=vars), encoding="utf-8")
    command = ["node", "--no-warnings", "--test", "--test-reporter=dot", *map(str, files)]
    environment = os.environ | {"DSBD_GIVEN": str(folder / "given.json")}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def numbers() -> list[tuple]:
    """Pairs of numbers, and the first as it is written."""
    chance = random.Random(7)
    values = [0.0, 1.0, 0.125, 0.375, 0.0625, -0.5, 10.0, 12.5, 5e-4, 4.99e-4, 1e-9, 0.1, 0.0995, 0.3000001]
    values += [999999999.5, 1e9, 1.25e9, -3.5e9, 2.5e60, 1.7e308]
    values += [chance.random() ** chance.randint(1, 12) * chance.choice([1, -1, 50]) for _ in range(2000)]
    return [(pair, number(pair[0])) for pair in itertools.pairwise(values)]


def traces() -> dict[str, dict]:
    """Every recorded trace, and some that are made here, each with the places that Python's drawings give it."""
    folders = (ASSETS / "traces", ASSETS / "lessons" / "traces", FOLDER / "traces")
    files = {path.name.removesuffix(".json.gz"): path for folder in folders for path in sorted(folder.glob("*.json*"))}
    made = {"nasty": nasty_trace(), "greedy": toy_traces("speculative_beam_search", 1)[0], "memory": remembered()}
    found = {name: Trace.load(path) for name, path in files.items() if name not in GONE} | made
    return {name: {"trace": trace.to_dict(), "drawn": scene(trace)} for name, trace in found.items()}


CHANGED = {
    "nodes.0.parent": 1, "nodes.1.parent": 2, "nodes.0.id": 0, "nodes.1.id": 1, "nodes.0.layer": 2,
    "input_beams.0.node": 99, "output_beams.0.node": 99, "trials.0.node": 0, "trials.0.layer": 2, "draws.0.layer": 9,
    "layers.0.layer": 2, "layers.0.alive.0": 1, "layers.0.beams.0.node": 99, "layers.0.alternatives.0.parent": 99,
    "kept.nodes.0": 99,
}  # fmt: skip
"""Places of an iteration and what contradicts the rest there: the first node is its own parent, and so on."""


def refused() -> list[dict]:
    """Traces that contradict themselves, with the sentence."""
    found = []
    for it, (place, value) in itertools.product((0, 1), CHANGED.items()):
        plain = trace_of("toy").to_dict()
        *path, last = [int(step) if step.isdigit() else step for step in place.split(".")]
        reduce(getitem, path, plain["iterations"][it])[last] = value
        with pytest.raises(TraceError) as error:
            Trace.from_dict(plain)
        found.append({"altered": plain, "said": str(error.value)})
    return found


def stopped() -> dict:
    """A decode without a result, with its best node and text."""
    trace = replace(trace_of("toy"), result=None)
    tree = visualize.forest_graph(trace)
    line = {id_: node["position"] for id_, node in tree.nodes.items() if node["row"] == 0}
    best = max(line, key=line.get)
    return {"trace": trace.to_dict(), "best": best, "text": text_of(best, trace.node_index())}


def pieces() -> list[dict]:
    """Hostile tokens one after the other: how each is shown, what it adds to the text, and the bytes that then wait."""
    chance, found, pending = random.Random(5), [], b""
    for at in range(2000):
        text = chance.choice(TEXTS)
        piece = Piece(at, text, None) if at % 3 == 0 else Piece(at, "\ufffd", chance.choice(BYTES))
        adds, rest = decode_piece(piece, pending)
        shown = [visible(text), flowing(text), shorten(piece_label(piece)), adds, hex_bytes(rest) if rest else ""]
        found.append({"piece": {"text": piece.text, "bytes": piece.bytes}, "text": text, "shown": shown})
        pending = rest
    return found


def oracle_distribution(pair: dict, width: int) -> dict[str, float]:
    """The distribution of the ends of a lab as the tests of the decoder add it up."""
    distributions = {
        role: lambda path, distribution=pair[role]: distribution["".join(map(str, path))]
        for role in ("target", "draft")
    }
    model, found = SimpleNamespace(eos=frozenset(), next_token=distributions), Counter()
    process = Process(model, [Weighted((), 0.0, 1)], Warp())
    for (_, alive), prob in process.after((((), 1),), pair["layers"], width).items():
        slots = sorted("".join(map(str, path)) for path, count in alive for _ in range(count))
        found["+".join(slots)] += prob
    return dict(found)


def what_python_says() -> dict:
    languages = known_languages()
    parts = {entry: joined(f"{entry}.js") for entry in ("live/worker", "live/panel", "pages/lab/lab", "page/page")}
    return {
        "traces": traces(),
        "numbers": numbers(),
        "plurals": {language: [plural_category(language, count) for count in range(300)] for language in languages},
        "module": viewer_assets()["js"],
        "joined": {"viewer": viewer_assets()["js_classic"], **parts},
        "refused": refused(),
        "stopped": stopped(),
        "pieces": pieces(),
        "pair": PAIR,
        "distributions": [
            [pair, width, oracle_distribution(pair, width)] for pair in (PAIR, ZEROS) for width in (1, 2)
        ],
    }


def test_the_javascript_passes_its_tests(tmp_path):
    """Catches a twin that only one of two authors has changed, and all that the files themselves name."""
    files = sorted(FOLDER.glob("*.test.js"))
    assert len(files) > 3
    run_under_node(files, what_python_says(), tmp_path)
