"""Runs the JavaScript's tests, ``*.test.js`` beside these, under node, with what Python says to their questions."""

import itertools
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from scipy import stats

import dsbd
import visualize
from dsbd.tracing.records import Piece
from dsbd.tracing.trace import Trace
from tests.visualize.drawings.test_geometry import EDGE
from tests.visualize.nasty import NASTY, nasty_trace
from tests.visualize.pages.test_lab import PAIR, ZEROS, oracle_law
from tests.visualize.story_pair import PROMPT, story_pair
from tests.visualize.traces import TRACES, scene_of, trace_of
from visualize.drawings import geometry
from visualize.pages.lab_parts import lab_script
from visualize.pages.live_parts import METHODS
from visualize.scenes.tokens import decode_piece, flowing, hex_bytes, piece_label, shorten, visible
from visualize.viewer.bundle import joined, viewer_assets
from visualize.words.plurals import plural_category
from visualize.words.words import known_languages, number, tell_apart

FOLDER = Path(__file__).parent
SLOW = ("alterations.test.js", "exact.test.js")
"""Run by the tests beside them."""
TRANSLATED = ("toy", "likely")
ASSETS = FOLDER.parents[1] / "assets"
BYTES = ["f09fa6", "8a", "f0", "9fa68a", "e4bd", "a0", "e4bda0", "c3", "ff", "e080", "eda080", "f490", "efbbbf",
         "e4bde4", "c3a9f0", "00", "efbb", "bf", "f0908080f0", "80", "0ac3"]  # fmt: skip
TEXTS = [*NASTY, "", " ", "\n", "\t x\r", "\ufeff２", "漢字漢字漢字漢字", "שלום", "a" * 15]
DRAWN = ("toy", "nasty", "1-dynamic-width.json.gz", "4-cover-nodes.json.gz")


def run_under_node(files: list[Path], given: dict, folder: Path) -> None:
    """Run test files with ``given``, or skip. Raises: AssertionError with what node tells of the failures."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    command = ["node", "--no-warnings", "--test", "--test-reporter=dot", *map(str, files)]
    environment = os.environ | {"DSBD_GIVEN": str(folder / "given.json")}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def said(name: str, language: str) -> dict:
    """Everything that a scene says of a trace, iteration by iteration."""
    return {
        "name": name,
        "language": language,
        "iterations": [
            {
                "steps": [step.sentence for step in iteration.steps],
                "layers": [[layer.title, layer.outcome_sentence, layer.reason] for layer in iteration.layers],
                "facts": [
                    [[fact.title, fact.sentence, fact.detail] for fact in node.facts] for node in iteration.nodes
                ],
            }
            for iteration in scene_of(name, language).iterations
        ],
    }


def numbers() -> list[tuple]:
    """Pairs of numbers, the first as it is written, and both told apart."""
    chance = random.Random(7)
    values = [0.0, 1.0, 0.125, 0.375, 0.0625, -0.5, 10.0, 12.5, 5e-4, 4.99e-4, 1e-9, 0.1, 0.0995, 0.3000001]
    values += [999999999.5, 1e9, 1.25e9, -3.5e9, 2.5e60, 1.7e308]
    values += [chance.random() ** chance.randint(1, 12) * chance.choice([1, -1, 50]) for _ in range(2000)]
    return [(pair, number(pair[0]), tell_apart(*pair)) for pair in itertools.pairwise(values)]


def edges(name: str, at: int) -> dict:
    """The edges of the drawing of an iteration, as SVG has them."""
    scene = scene_of(name)
    drawn = [[float(text) for text in found.groups()[:5]] for found in EDGE.finditer(visualize.forest_svg(scene, at))]
    assert drawn
    room = geometry.PITCH * (max(scene.iterations[at].last_column, 1) + 0.92) + 26
    sizes = {"pitch": geometry.PITCH, "left": geometry.LEFT, "band": geometry.BAND, "row": geometry.ROW}
    return {"name": name, "at": at, "room": room, "edges": drawn, **sizes}


def chi_squares(freedom: int) -> dict:
    """Values of chi-square with their p-values, and the one that is exceeded once in a hundred."""
    squares = [0.1, 1.0, freedom / 2, freedom, freedom + 3, 2 * freedom + 5, 200.0, 4_000.0]
    p_values, limit = stats.chi2.sf(squares, freedom).tolist(), stats.chi2.isf(0.01, freedom)
    return {"freedom": freedom, "squares": squares, "p_values": p_values, "limit": limit}


def traced(name: str) -> dict:
    """A trace as the browser gets it, and its tables of nodes."""
    scene = scene_of(name)
    tables = [visualize.nodes_csv(scene, at) for at in range(len(scene.iterations))]
    return {"scene": visualize.scene_json(scene), "tables": tables}


def scenes() -> list[dict]:
    """What a browser decodes, as traces and their scenes."""
    folders = (ASSETS / "traces", ASSETS / "lessons" / "traces", FOLDER / "traces")
    files = {path.name: path for folder in folders for path in sorted(folder.glob("*.json*"))}
    traces = {name: Trace.load(path) for name, path in files.items()} | {"nasty": nasty_trace(), "greedy": greedy()}
    return [
        {"name": name, "trace": trace.to_dict(), "scene": visualize.scene_json(visualize.scene(trace))}
        for name, trace in traces.items()
        if trace.settings.method in METHODS and trace.prompt.memory is None
    ]


def greedy() -> Trace:
    """A decode in which it is certain which picks were guessed."""
    settings = dsbd.DecodingSettings(method="speculative_beam_search", num_beams=2, draft_width=5, max_new_tokens=8)
    trace = dsbd.decode(story_pair(), PROMPT, settings, record=True).trace
    assert trace is not None
    return trace


def stopped() -> dict:
    """A decode without a result, in another language."""
    trace = trace_of("toy")
    models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
    builder = visualize.SceneBuilder(trace.prompt, trace.settings, title="dsbd", models=models, language="ar")
    for iteration in trace.iterations:
        builder.add(iteration)
    scene = builder.scene()
    best = max((node for node in scene.whole.nodes if node.row == 0), key=lambda node: node.position)
    return {"trace": trace.to_dict(), "scene": visualize.scene_json(scene), "best": best.id}


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


def what_python_says() -> dict:
    languages = known_languages()
    live = {entry: joined(f"live/{entry}.js") for entry in ("worker", "panel")}
    asked = [(name, "en") for name in TRACES] + [(name, one) for name in TRANSLATED for one in languages if one != "en"]
    return {
        "traces": {name: traced(name) for name in TRACES},
        "said": [said(name, language) for name, language in asked],
        "numbers": numbers(),
        "plurals": {language: [plural_category(language, count) for count in range(300)] for language in languages},
        "edges": [edges(name, at) for name in DRAWN for at in range(min(4, len(scene_of(name).iterations)))],
        "module": viewer_assets()["js"],
        "joined": {"viewer": viewer_assets()["js_classic"], "lab": lab_script(), **live},
        "scenes": scenes(),
        "stopped": stopped(),
        "pieces": pieces(),
        "lab": {
            "pair": PAIR,
            "zeros": ZEROS,
            "laws": [[pair, width, oracle_law(pair, width)] for pair in (PAIR, ZEROS) for width in (1, 2)],
            "chi_squares": [chi_squares(freedom) for freedom in (1, 2, 5, 21, 60)],
        },
    }  # fmt: skip


def test_the_javascript_passes_its_tests(tmp_path):
    """Catches a twin that only one of two authors has changed, and all that the files themselves name."""
    files = [path for path in sorted(FOLDER.rglob("*.test.js")) if path.name not in SLOW]
    assert len(files) > 4
    run_under_node(files, what_python_says(), tmp_path)
