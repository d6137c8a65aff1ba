"""The scene that the browser builds of a decode is the one that Python builds."""

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsbd.tracing.trace import Trace
from tests.visualize.traces import trace_of
from visualize import SceneBuilder, scene_json

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FOLDERS = (ROOT / "assets" / "traces", ROOT / "assets" / "lessons" / "traces", HERE.parent / "traces")
RECORDED = {path.name: path for folder in FOLDERS for path in sorted(folder.glob("*.json*"))}


def asked_of(trace: Trace, language: str) -> dict[str, Any]:
    return {"language": language, "trace": trace.to_dict()}


def expected_of(trace: Trace, language: str) -> dict[str, Any]:
    models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
    builder = SceneBuilder(trace.prompt, trace.settings, title=trace.settings.method, models=models, language=language)
    live = []
    for iteration in trace.iterations:
        builder.add(iteration)
        live.append(scene_json(builder.scene(last=1)))
    return {"live": live, "whole": scene_json(builder.scene(trace.result))}


def built(asked: list[dict[str, Any]], folder: Path, *module: str) -> list[dict[str, Any]]:
    """Ask the JavaScript for the scenes of traces, or skip."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    command = [
        "node",
        "--no-warnings",
        HERE / "build_scenes.js",
        folder / "asked.json",
        folder / "answers.json",
        *module,
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-5000:]
    answers: list[dict[str, Any]] = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    return answers


def differences(found: Any, expected: Any, where: str = ""):
    """Name the places where plain data differs; numbers may differ by rounding in the last digits."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for key in expected:
            yield from differences(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{where}[{place}]")
    elif isinstance(expected, bool) or not isinstance(expected, int | float) or not isinstance(found, int | float):
        if found != expected or type(found) is not type(expected):
            yield f"{where}: {found!r} is not {expected!r}"
    elif isinstance(found, bool) or not math.isclose(found, expected, rel_tol=1e-12):
        yield f"{where}: {found!r} is not {expected!r}"


@pytest.mark.parametrize("name", RECORDED)
def test_scene(name, tmp_path):
    trace = Trace.load(RECORDED[name])
    languages = ("en", "ar")
    for language, found in zip(languages, built([asked_of(trace, one) for one in languages], tmp_path), strict=True):
        expected = expected_of(trace, language)
        assert list(differences(found, expected))[:5] == []
