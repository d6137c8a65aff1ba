"""The scene that the browser builds of a decode is the one that Python builds."""

import json
import math
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsbd.tracing.records import Iteration, Piece, Prompt
from dsbd.tracing.trace import Trace
from tests.visualize.nasty import NASTY
from tests.visualize.toy import toy_trace
from tests.visualize.viewer.test_bundle import top_level_names
from visualize import SceneBuilder, scene_json
from visualize.viewer.bundle import ENTRY as VIEWER
from visualize.viewer.bundle import imports_of, joined
from visualize.words.words import known_languages

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FOLDERS = (ROOT / "assets" / "traces", ROOT / "assets" / "lessons" / "traces", HERE.parent / "traces")
RECORDED = {path.name: path for folder in FOLDERS for path in sorted(folder.glob("*.json*"))}
ENTRY = "live/scene/builder.js"
TEXTS = [*NASTY, "", " ", "\n", "\t x\r", "\ufeff２", "漢字漢字漢字漢字", "e\u0301a\u0345", "🇩🇪", "ﾊﾟ", "﷽" * 16,
         "\ue000", "␣", "❤\ufe0f" * 9, "שלום", "👩🏽\u200d🚀" * 5, "한\u1100\u1161", "a" * 15, "𝔘" * 14]  # fmt: skip
BYTES = ["f09fa6", "8a", "f0", "9fa68a", "e4bd", "a0", "e4bda0", "c3", "ff", "e080", "eda080", "f490", "efbbbf",
         "e4bde4", "c3a9f0", "00", "efbb", "bf", "f0908080f0", "80", "0ac3"]  # fmt: skip
TIES = [2**-10, 3 * 2**-12, 5 * 2**-11, 0.0, 1.0, 0.5, 2**-60, 1e-300, 0.1 + 0.2, 2 / 3, 0.99999949999, 9.9999995e-5]
SPOILED = ["toy", "likely", "joint", "tree", "block", "blocks", "chance", "plain", "ruled"]


def files_of(entry: str) -> set[str]:
    """Return a JavaScript file and all that it imports."""
    imported = (name for name, _ in imports_of(entry) if name.endswith(".js"))
    return {entry}.union(*map(files_of, imported))


def asked_of(trace: Trace, language: str = "en", **changed: Any) -> dict[str, Any]:
    """What the JavaScript is asked; ``changed``: arguments of the builder to replace."""
    plain = trace.to_dict()
    models = [model["id"] for model in (plain["models"]["target"], plain["models"]["draft"]) if model is not None]
    parts = {"prompt": plain["prompt"], "settings": plain["settings"], "title": trace.settings.method}
    builder = {**parts, "models": models, "language": language, **changed}
    return {"builder": builder, "iterations": plain["iterations"], "result": plain["result"]}


def expected_of(trace: Trace, language: str = "en", **changed: Any) -> dict[str, Any]:
    """The scene of a trace: the newest iteration after each, and the whole."""
    models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
    parts = {"prompt": trace.prompt, "settings": trace.settings, "title": trace.settings.method}
    builder = SceneBuilder(**{**parts, "models": models, "language": language, **changed})
    live = []
    for iteration in trace.iterations:
        builder.add(iteration)
        live.append(scene_json(builder.scene(last=1)))
    return {"live": live, "whole": scene_json(builder.scene(trace.result))}


def built(asked: list[dict[str, Any]], folder: Path, script: Path | str = "") -> list[dict[str, Any]]:
    """Ask the JavaScript for the scenes of traces, or skip. ``script``: the builder, if not the source file."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    files = [str(HERE / "build_scenes.js"), str(folder / "asked.json"), str(folder / "answers.json")]
    done = subprocess.run(["node", "--no-warnings", *files, str(script)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-5000:]
    answers: list[dict[str, Any]] = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    return answers


def differences(found: Any, expected: Any, where: str = "") -> Iterator[str]:
    """Name the places where plain data differs; a sum may be rounded otherwise in its last digit."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for key in expected:
            yield from differences(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{where}[{place}]")
    elif isinstance(expected, float) and isinstance(found, int | float) and not isinstance(found, bool):
        if not math.isclose(found, expected, rel_tol=1e-12):
            yield f"{where}: {found!r} is not {expected!r}"
    elif found != expected or isinstance(found, bool) != isinstance(expected, bool):
        yield f"{where}: {found!r} is not {expected!r}"


def assert_same(found: Any, expected: Any) -> None:
    assert list(differences(found, expected))[:5] == []


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_traces_in_two_languages(name, tmp_path):
    trace = Trace.load(RECORDED[name])
    languages = "en", "ar"
    found = built([asked_of(trace, language) for language in languages], tmp_path)
    assert_same(found, [expected_of(trace, language) for language in languages])


def spoiled(trace: Trace, seed: int) -> Trace:
    """Return a trace with other texts, bytes, numbers, parents and verdicts, which hold together and mean nothing."""
    chance = random.Random(seed)

    def piece() -> dict[str, Any]:
        if chance.random() < 0.5:
            return {"text": chance.choice(TEXTS), "bytes": None}
        return {"text": "\ufffd", "bytes": chance.choice(BYTES)}

    def probs(record: Any) -> dict[str, Any]:
        names = [name for name in vars(record) if name.endswith(("_prob", "log_prob", "log_weight", "_seconds"))]
        known = {name: chance.choice(TIES) for name in names if getattr(record, name) is not None}
        return {name: -value if "log" in name else value for name, value in known.items()}

    def altered(iteration: Iteration) -> Iteration:
        above = {0: [beam.node for beam in iteration.input_beams]}
        nodes = []
        for node in iteration.nodes:
            kind = node.kind if node.kind == "drawn" else chance.choice(["drafted", "cover"])
            parent = chance.choice(above[node.layer - 1])
            nodes.append(replace(node, **piece(), **probs(node), kind=kind, parent=parent, ends=chance.random() < 0.1))
            above.setdefault(node.layer, []).append(node.id)
        verdicts = {True: ["accepted", "rejected", "carried"], False: ["accepted", "rejected", "orphaned", "unneeded"]}
        trials = [
            replace(trial, verdict=chance.choice(verdicts[trial.joint is not None]), **probs(trial))
            for trial in iteration.trials
        ]
        draws = [replace(draw, landed=chance.random() < 0.5, **probs(draw)) for draw in iteration.draws]
        layers = [
            replace(
                layer,
                alternatives=[replace(pair, text=piece()["text"], **probs(pair)) for pair in layer.alternatives],
                beams=[replace(beam, **probs(beam)) for beam in layer.beams],
                finished=[beam.node for beam in layer.beams if chance.random() < 0.1],
            )
            for layer in iteration.layers
        ]  # fmt: skip
        beams = {
            name: [replace(beam, **probs(beam)) for beam in getattr(iteration, name)]
            for name in ("input_beams", "output_beams")
        }
        phases = replace(iteration.phases, **probs(iteration.phases))
        return replace(iteration, nodes=nodes, layers=layers, trials=trials, draws=draws, phases=phases, **beams)

    pieces = [
        Piece(token_id=at, special=chance.random() < 0.2, **piece()) for at in range(chance.choice([0, 1, 9, 70]))
    ]
    prompt = Prompt(text=chance.choice(TEXTS), pieces=pieces)
    return replace(trace, prompt=prompt, iterations=[altered(iteration) for iteration in trace.iterations])


@pytest.mark.parametrize("name", SPOILED)
def test_hostile_texts_and_numbers_that_end_in_a_tie(name, tmp_path):
    """Among them characters split over tokens, and what is no character; forests of any shape; equal log-weights."""
    traces = [spoiled(toy_trace(name), seed) for seed in range(6)]
    assert_same(built([asked_of(trace) for trace in traces], tmp_path), [expected_of(trace) for trace in traces])


def test_decodes_without_a_result_a_prompt_or_settings_and_from_the_middle(tmp_path):
    whole = toy_trace()
    stopped = replace(whole, result=None)
    untold: dict[str, Any] = {"prompt": None, "settings": None, "models": []}
    begun = replace(stopped, iterations=whole.iterations[2:])
    traces = [stopped, replace(stopped, iterations=[]), replace(toy_trace("likely"), result=None), begun]
    asked = [asked_of(trace, **changed) for trace in traces for changed in ({}, untold)]
    expected = [expected_of(trace, **changed) for trace in traces for changed in ({}, untold)]
    assert_same(built(asked, tmp_path), expected)


def test_every_language_names_the_prompt(tmp_path):
    trace = toy_trace("small")
    found = built([asked_of(trace, language) for language in known_languages()], tmp_path)
    assert_same(found, [expected_of(trace, language) for language in known_languages()])


def test_the_joined_builder_builds_the_same(tmp_path):
    """Catches a name that two files use, a comment that swallows code, and a builder that needs a page."""
    names = [name for file in sorted(files_of(ENTRY) | files_of(VIEWER)) for name in top_level_names(file)]
    assert sorted(name for name in names if names.count(name) > 1) == []
    script = tmp_path / "builder.mjs"
    script.write_text(joined(ENTRY) + "export {SceneBuilder};\n", encoding="utf-8")
    trace = toy_trace()
    found = built([asked_of(trace, "ja")], tmp_path, script)
    assert_same(found, [expected_of(trace, "ja")])
