"""Every recorded trace can be drawn; the bundled pairs and the story pair of the tests decode it again."""

import math
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path

import pytest

import visualize
from dsbd.tracing.trace import Trace
from tests.visualize.toy import toy_trace

ASSETS = Path(__file__).parents[2] / "assets"
RECORDED = sorted((ASSETS / "traces").glob("*.json*"))
BUNDLED = [*RECORDED, *sorted((ASSETS / "lessons" / "traces").glob("[!5]*.json*"))]
"""The recordings of bundled pairs: all but that of lesson 5, whose models know three words."""
EDGE = 3e-5
"""The least distance of a number from what would decide otherwise. Engines and processors differ by 1e-5."""
TOYS = Path(__file__).with_name("traces")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_a_recorded_trace_can_be_drawn(path):
    trace = Trace.load(path)
    scene = visualize.scene(trace)
    assert len(scene.iterations) == len(trace.iterations)
    last = len(trace.iterations) - 1
    assert visualize.forest_figure(scene, last).to_json()
    ElementTree.fromstring(visualize.forest_svg(scene, last, theme="dark"))
    for figure in (visualize.tokens_figure, visualize.width_figure, visualize.timeline_figure):
        assert figure(trace).to_json()
    assert visualize.forest_text(scene, 0)


@cache
def bundled_pair(target):
    """Load the bundled pair of a recorded target, in the numbers of nearly every processor and every browser."""
    import dsbd

    name = target.removesuffix("/target")
    return dsbd.load_pair(f"{name}:stories" if name == "bundled" else name, dtype="float32", engine="eager")


def distances(trace):
    """Yield how far every number that decided something is from deciding otherwise."""
    asked = trace.settings
    for iteration in trace.iterations:
        for trial in iteration.trials:
            if trial.uniform is not None:
                yield abs(trial.uniform - trial.acceptance)
        for draw in iteration.draws:
            yield from (draw.uniform - draw.cdf_low for _ in range(draw.cdf_low > 0))
            yield from (draw.cdf_high - draw.uniform for _ in range(draw.cdf_high < 1))
        for layer in iteration.layers if asked.min_width < asked.max_width else []:
            chances = layer.accepted_distribution
            yield from (abs(sum(chances[count:]) - asked.width_threshold) for count in range(1, len(chances)))


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name)
def test_run_gives_what_is_recorded(path):
    """Catches a page that shows one text and writes another after Run, and a recording that hangs on rounding."""
    import dsbd

    trace = Trace.load(path)
    assert trace.models.target.dtype == "float32"
    assert min(distances(trace)) > EDGE
    settings = dsbd.DecodingSettings.from_dict(vars(trace.settings))
    result = dsbd.decode(bundled_pair(trace.models.target.id), trace.prompt.text, settings)
    assert result.token_ids == trace.result.token_ids


def bare(data):
    """Return a trace as plain data, without times, software and digest, which change in every run.

    Of a layer's alternatives the probabilities stay: which of two pairs comes first, or is the last, where their
    probabilities differ by rounding depends on the processor.
    """
    if isinstance(data, dict):
        gone = {"phases", "stats", "software", "digest", "device"}
        kept = {name: bare(value) for name, value in data.items() if name not in gone}
        if "alternatives" in kept:
            kept["alternatives"] = [one["target_prob"] for one in kept["alternatives"]]
        return kept
    return [bare(value) for value in data] if isinstance(data, list) else data


def differences(one, other, place=""):
    """Return where two plain values differ by more than rounding; an assertion on all would print for minutes."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], f"{place}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for at, pair in pairs for found in differences(*pair, f"{place}[{at}]")]
    if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-9):
        return []
    return [] if one == other else [place]


def test_rounding_is_no_difference_and_a_changed_number_is():
    """Catches a comparison that takes everything, or nothing that another processor computes."""
    assert differences({"c": [0.1 + 0.2]}, {"c": [0.3]}) == []
    assert differences({"c": [0.3001], "d": 1}, {"c": [0.3], "d": 2}) == [".c[0]", ".d"]


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".json.gz") for path in TOYS.glob("*")))
def test_the_story_pair_decodes_what_is_recorded(name):
    """Catches a recording that no decode gives any more: the drawings would be tested on what cannot happen."""
    from tests.visualize.story_pair import RECORDINGS, record  # the tests that only draw need no torch

    assert name in RECORDINGS
    assert differences(bare(record(name).to_dict()), bare(toy_trace(name).to_dict())) == []


def test_the_recordings_hold_every_verdict_and_every_awkward_word():
    """Catches a recording that no longer shows what the drawings are tested for."""
    trace = toy_trace()
    trials, draws, layers, nodes = (
        [one for iteration in trace.iterations for one in getattr(iteration, kind)]
        for kind in ("trials", "draws", "layers", "nodes")
    )
    assert {trial.verdict for trial in trials} == {"accepted", "rejected", "orphaned", "unneeded"}
    assert {draw.kind for draw in draws} == {"recovered", "fresh", "bonus"}
    assert {draw.landed for draw in draws} == {True, False}
    assert {layer.outcome for layer in layers} == {"passed", "landed", "short", "bonus"}
    assert {node.kind for node in nodes} == {"drafted", "cover", "drawn"}
    assert any(node.bytes for node in nodes)
    assert any(node.ends for node in nodes)
    texts = "".join(node.text for node in nodes)
    for text in ("<b>hi</b>", "</script>", '"do', "שלום", "&"):
        assert text in texts
