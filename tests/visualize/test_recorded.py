"""The bundled pairs and the story pair of the tests decode it again."""

from functools import cache
from pathlib import Path

import pytest

from dsbd.tracing.audit import verify_trace
from dsbd.tracing.trace import Trace
from tests.visualize.toy import toy_trace

ASSETS = Path(__file__).parents[2] / "assets"
BUNDLED = [*sorted((ASSETS / "traces").glob("*.json*")), *sorted((ASSETS / "lessons" / "traces").glob("[!5]*.json*"))]
"""The recordings of bundled pairs: all but that of lesson 5, whose models know three words."""
EDGE = 3e-5
"""The least distance of a number from what would decide otherwise. Engines and processors differ by 1e-5."""
TOYS = Path(__file__).with_name("traces")


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


def decided(trace):
    """Return the text and every verdict and draw, which stay if a processor rounds otherwise."""
    return trace.result.token_ids, [
        [one.verdict for one in iteration.trials] + [(one.kind, one.landed) for one in iteration.draws]
        for iteration in trace.iterations
    ]


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".json.gz") for path in TOYS.glob("*")))
def test_the_story_pair_decodes_what_is_recorded(name):
    """Catches a recording that no decode gives any more: the drawings would be tested on what cannot happen."""
    from tests.visualize.story_pair import RECORDINGS, record  # the tests that only draw need no torch

    assert name in RECORDINGS
    assert decided(record(name)) == decided(toy_trace(name))
    assert verify_trace(toy_trace(name)).passed


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
