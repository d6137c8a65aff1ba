"""Runs the tests in JavaScript, ``*.test.js`` in this folder, under node, with the answers that Python expects."""

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
from tests.verification.oracle import KNOWN_ANSWERS, Process, Warp, Weighted, gumbel
from tests.visualize.traces import NASTY, nasty_trace, remembered, scene, trace_of
from visualize.forest import text_of
from visualize.tokens import decode_piece, flowing, hex_bytes, piece_label, shorten, visible
from visualize.viewer.bundle import joined, viewer_assets
from visualize.words import known_languages, number, plural_category

FOLDER = Path(__file__).parent
ASSETS = FOLDER.parents[1] / "assets"
BYTES = ["f09fa6", "8a", "f0", "9fa68a", "e4bd", "a0", "e4bda0", "c3", "ff", "e080", "eda080", "f490", "efbbbf",
         "e4bde4", "c3a9f0", "00", "efbb", "bf", "f0908080f0", "80", "0ac3"]  # fmt: skip
TEXTS = [*NASTY, "", " ", "\n", "\t x\r", "\ufeff２", "漢字漢字漢字漢字", "שלום", "a" * 15]
PAIR = json.loads((ASSETS / "lessons" / "three-words.json").read_text(encoding="utf-8"))
ZEROS = {"words": ["red", "blue"], "prompt": "red", "layers": 2,
         "target": {"": [0.0, 1.0], "0": [0.5, 0.5], "1": [0.25, 0.75]},
         "draft": {"": [0.5, 0.5], "0": [1.0, 0.0], "1": [1.0, 0.0]}}  # fmt: skip
"""Tables of a lab."""


def run_under_node(files: list[Path], expected: dict, folder: Path) -> None:
    """Run test files with the expected values, or skip. Raises: AssertionError with what node prints of failures."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "given.json").write_text(json.dumps(expected, default=vars), encoding="utf-8")
    command = ["node", "--no-warnings", "--test", "--test-reporter=dot", *map(str, files)]
    environment = os.environ | {"DSBD_GIVEN": str(folder / "given.json")}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def numbers() -> list[tuple]:
    """Return pairs of numbers, each with the first as text."""
    source = random.Random(7)
    values = [0.0, 1.0, 0.125, 0.375, 0.0625, -0.5, 10.0, 12.5, 5e-4, 4.99e-4, 1e-9, 0.1, 0.0995, 0.3000001]
    values += [999999999.5, 1e9, 1.25e9, -3.5e9, 2.5e60, 1.7e308]
    values += [source.random() ** source.randint(1, 12) * source.choice([1, -1, 50]) for _ in range(2000)]
    return [(pair, number(pair[0])) for pair in itertools.pairwise(values)]


def traces() -> dict[str, dict]:
    """Return every recorded trace and some more, each as Python draws it."""
    folders = (ASSETS / "traces", ASSETS / "lessons" / "traces", FOLDER / "traces")
    files = {path.name.removesuffix(".json.gz"): path for folder in folders for path in sorted(folder.glob("*.json*"))}
    more = {"nasty": nasty_trace(), "greedy": toy_traces("speculative_beam_search", 1)[0], "memory": remembered()}
    every = {name: Trace.load(path) for name, path in files.items()} | more
    return {name: {"trace": trace.to_dict(), "drawn": scene(trace)} for name, trace in every.items()}


CHANGED = {
    "nodes.0.parent": 1, "nodes.1.parent": 2, "nodes.0.id": 0, "nodes.1.id": 1, "nodes.0.layer": 2,
    "input_beams.0.node": 99, "output_beams.0.node": 99, "trials.0.node": 0, "trials.0.layer": 2, "draws.0.layer": 9,
    "layers.0.layer": 2, "layers.0.alive.0": 1, "layers.0.beams.0.node": 99, "layers.0.alternatives.0.parent": 99,
    "kept.nodes.0": 99,
}  # fmt: skip
"""Fields of an iteration with values that contradict the rest: the first node is its own parent, and so on."""


def refused() -> list[dict]:
    """Return traces that contradict themselves, with the error."""
    cases = []
    for it, (field, value) in itertools.product((0, 1), CHANGED.items()):
        plain = trace_of("toy").to_dict()
        *path, last = [int(step) if step.isdigit() else step for step in field.split(".")]
        reduce(getitem, path, plain["iterations"][it])[last] = value
        with pytest.raises(TraceError) as error:
            Trace.from_dict(plain)
        cases.append({"altered": plain, "said": str(error.value)})
    return cases


def stopped() -> dict:
    """Return a decode without a result, with its best node and text."""
    trace = replace(trace_of("toy"), result=None)
    tree = visualize.forest_graph(trace)
    line = {id_: node["position"] for id_, node in tree.nodes.items() if node["row"] == 0}
    best = max(line, key=line.get)
    return {"trace": trace.to_dict(), "best": best, "text": text_of(best, trace.node_index())}


def pieces() -> list[dict]:
    """Return hostile tokens in turn: how each is shown, what it adds to the text, and the bytes left over."""
    source, cases, pending = random.Random(5), [], b""
    for at in range(2000):
        text = source.choice(TEXTS)
        piece = Piece(at, text, None) if at % 3 == 0 else Piece(at, "\ufffd", source.choice(BYTES))
        added, pending = decode_piece(piece, pending)
        left = hex_bytes(pending) if pending else ""
        shown = [visible(text), flowing(text), shorten(piece_label(piece)), added, left]
        cases.append({"piece": {"text": piece.text, "bytes": piece.bytes}, "text": text, "shown": shown})
    return cases


def oracle_distribution(pair: dict, width: int) -> dict[str, float]:
    """Return the distribution of the ends of a lab, as the enumeration in the decoder's tests computes it."""
    tables = {role: lambda path, table=pair[role]: table["".join(map(str, path))] for role in ("target", "draft")}
    model, ends = SimpleNamespace(eos=frozenset(), next_token=tables), Counter()
    process = Process(model, [Weighted((), 0.0, 1)], Warp())
    for (_, alive), prob in process.after((((), 1),), pair["layers"], width).items():
        slots = sorted("".join(map(str, path)) for path, count in alive for _ in range(count))
        ends["+".join(slots)] += prob
    return dict(ends)


def noises() -> list[dict]:
    """The noise of paths behind seeds and prompts of every size."""
    places = itertools.product((0, 7, 2**32, 2**40 + 3, 2**53 - 1), ([5], [0, 65_000]), ([0], [3, 2**31, 70_000]))
    return [
        {"seed": seed, "prompt": prompt, "path": path,
         "values": [gumbel(seed, tuple(prompt), tuple(path), draw) for draw in range(5)]}
        for seed, prompt, path in places
    ]  # fmt: skip


def expected_values() -> dict:
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
        "noise": noises(),
        "philox": [{"counter": counter, "key": [key % 2**32, key >> 32], "words": words}
                   for counter, key, words in KNOWN_ANSWERS],
        "distributions": [
            [pair, count, oracle_distribution(pair, count)] for pair in (PAIR, ZEROS) for count in (1, 2)
        ],
    }  # fmt: skip


def test_the_javascript_passes_its_tests(tmp_path):
    """Catches a rule that was changed in one language only, and everything that the files themselves name."""
    run_under_node(sorted(FOLDER.glob("*.test.js")), expected_values(), tmp_path)
