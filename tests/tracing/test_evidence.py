"""What a trace proves: an altered one does not follow, or the audit says that only the digest seals the field."""

import copy
from dataclasses import fields
from functools import cache

import pytest

import dsbd
from dsbd.assets import asset_path
from dsbd.settings import ResolvedSettings
from dsbd.tracing.trace import Trace, canonical_digest
from tests.command_line import run
from tests.toy_pair import toy_pair
from tests.tracing.alterations import ALTERATIONS, alter, resealed
from tests.visualize.toy import FOLDER

FILES = [
    *sorted(asset_path("traces").glob("*.gz")),
    *sorted(asset_path("lessons").glob("traces/*.gz")),
    *(FOLDER / f"{name}.json.gz" for name in ("likely", "joint", "tree", "distinct-tree", "block")),
]
TRACES = {path.name: path for path in FILES}


@cache
def trace_of(name: str) -> Trace:
    return Trace.load(TRACES[name])


@pytest.fixture(scope="module")
def sealed() -> dict[str, tuple[str, ...]]:
    """Per trace what only the digest seals."""
    return {name: dsbd.verify_trace(trace_of(name), list_sealed=True).sealed for name in TRACES}


@pytest.mark.parametrize("name", TRACES)
def test_recorded_traces_follow_and_keep_their_digests(name):
    """Catches an audit that raises a false alarm, and a change of what a digest covers."""
    report = dsbd.verify_trace(trace_of(name))
    assert report.failure is None
    assert canonical_digest(trace_of(name)) == trace_of(name).digest


@pytest.mark.parametrize("what", ALTERATIONS)
@pytest.mark.slow
def test_an_altered_trace_fails_or_is_listed(sealed, what):
    """Catches a field that can be changed, with a new digest, without a word in the report."""
    tried = 0
    for name in TRACES:
        altered = alter(trace_of(name), what)
        if altered is None:
            continue
        tried += 1
        if dsbd.verify_trace(altered).passed:
            kind, _, field = what.partition(" ")
            assert kind == "settings", f"{name}: {what} passes"
            assert any(line.startswith(f"settings.{field}:") for line in sealed[name]), f"{name}: {what} is not listed"
    assert tried


JOINT = [what for what in ALTERATIONS if what.startswith("joint")]


@pytest.mark.parametrize("what", JOINT)
def test_a_joint_test_is_decided_again(what):
    """Catches an audit that takes the sums, the threshold or the verdicts of a joint test as recorded."""
    altered = alter(trace_of("joint.json.gz"), what)
    assert altered is not None
    report = dsbd.verify_trace(altered)
    assert not report.passed
    assert "digest" not in report.failure


BLOCK = [what for what in ALTERATIONS if what.endswith("of a beginning")]


@pytest.mark.parametrize("what", [*BLOCK, "verdict", "width", "uniform outside its interval", "settings verification"])
def test_a_block_is_decided_again(what):
    """Catches an audit that takes p, s, the chances or the verdicts of a block as recorded."""
    altered = alter(trace_of("block.json.gz"), what)
    assert altered is not None
    report = dsbd.verify_trace(altered)
    assert not report.passed
    assert "digest" not in report.failure


TREE = ["verdict", "width", "uniform beyond the acceptance", "draft_prob of a trial", "target_prob of a node"]


@pytest.mark.parametrize("name", ["tree", "distinct-tree"])
@pytest.mark.parametrize("what", [*TREE, "settings branching", "settings replacement"])
def test_a_tree_is_decided_again(name, what):
    """Catches an audit that takes the families of a tree for one joint law, or believes how many there are."""
    altered = alter(trace_of(f"{name}.json.gz"), what)
    assert altered is not None
    report = dsbd.verify_trace(altered)
    assert not report.passed
    assert "digest" not in report.failure


DECIDED = [what for what in ALTERATIONS if not what.startswith("settings") and what not in (*JOINT, *BLOCK)] + [
    "settings temperature",
    "settings top_k",
    "settings min_width",
    "settings max_width",
    "settings draft_depth",
    "settings draft_width",
    "settings length_penalty",
    "settings replacement",
    "settings cover_width",
]


@pytest.mark.parametrize("what", DECIDED)
def test_what_a_run_turns_on_is_decided_again(what):
    """Catches an audit that lists as sealed what it should decide: in this run all of these decide something."""
    altered = alter(trace_of("4-cover-nodes.json.gz"), what)
    assert altered is not None
    report = dsbd.verify_trace(altered)
    assert not report.passed
    assert "digest" not in report.failure


WIDTHS = {
    "width_rule_sampling": {
        "width": lambda layer: layer.update(width=layer["width"] + 1),
        "chain": lambda layer: layer["chain_S"].__setitem__(1, layer["chain_S"][1] + 0.01),
        "reason": lambda layer: layer.update(width_reason="bonus"),
        "kind": lambda layer: layer.update(kind="draft"),
        "uniform": lambda layer: layer.update(width_uniform=0.5),
    },
    "random_width": {
        "width": lambda layer: layer.update(width=layer["width"] + 1),
        "uniform": lambda layer: layer.update(width_uniform=(layer["width_uniform"] + 0.5) % 1.0),
        "no uniform": lambda layer: layer.pop("width_uniform"),
        "reason": lambda layer: layer.update(width_reason="bonus"),
    },
}


@pytest.mark.parametrize("method", WIDTHS)
def test_a_width_that_was_chosen_without_drafts_is_decided_again(method):
    """Catches an audit that takes any width where nothing was drafted."""
    settings = dsbd.DecodingSettings(method=method, max_new_tokens=6, num_beams=4, width_threshold=0.1)
    trace = dsbd.decode(toy_pair(), "Once upon", settings, record=True).trace
    assert dsbd.verify_trace(trace).failure is None
    for what, alteration in WIDTHS[method].items():
        data = trace.to_dict()
        alteration(data["iterations"][1]["layers"][0])
        assert "iteration" in dsbd.verify_trace(resealed(data)).failure, what


def test_every_setting_is_tried():
    """Catches a setting that was added without an alteration."""
    tried = {what.removeprefix("settings ") for what in ALTERATIONS if what.startswith("settings")}
    assert tried == {field.name for field in fields(ResolvedSettings)}


def test_the_list_follows_from_the_trace(sealed):
    """Catches a fixed text: beam sampling has no drafts, and a run in which landing mattered does not list it."""
    assert not any("draft_log_prob" in line for line in sealed["6-beam-sampling.json.gz"])
    assert any("draft_log_prob" in line for line in sealed["1-dynamic-width.json.gz"])
    assert not any(line.startswith("settings.landing") for line in sealed["1-dynamic-width.json.gz"])
    assert any(line.startswith("settings.landing") for line in sealed["3-without-replacement.json.gz"])


def test_verify_trace_lists_what_is_sealed(capsys, sealed):
    """Catches a report that leaves the list out."""
    path = str(asset_path("traces") / "1-dynamic-width.json.gz")
    code, out, _ = run(capsys, "verify-trace", path)
    assert code == 0
    assert "sealed by the digest only:" in out
    for line in sealed["1-dynamic-width.json.gz"]:
        assert line in out


def test_a_resealed_copy_follows():
    """Catches alterations that fail because of how they are made."""
    for name in TRACES:
        assert dsbd.verify_trace(resealed(trace_of(name).to_dict())).passed


def test_a_block_that_cannot_be_is_refused_without_a_traceback():
    """Catches a division by a p of 0, or a chain that is read beyond its end."""
    plain = trace_of("block.json.gz").to_dict()
    place = next(place for place, one in enumerate(plain["iterations"]) if len(one.get("beginnings", [])) > 1)

    def altered(change) -> str | None:
        data = copy.deepcopy(plain)
        change(data["iterations"][place])
        return dsbd.verify_trace(resealed(data)).failure

    least = {"probability": 0.0, "rest": 1e-12, "acceptance": 1e-12, "uniform": 0.0}
    for change in (
        lambda iteration: iteration["beginnings"].clear(),
        lambda iteration: iteration["beginnings"].pop(),
        lambda iteration: [one.update(least) for one in iteration["beginnings"]],
        lambda iteration: [one.update(probability=1.0 + 1e-10, rest=1e-10) for one in iteration["beginnings"]],
        lambda iteration: iteration["layers"][0].update(
            draws_planned=0, chain_c=[0.0], chain_S=[1.0], acceptance_chain=[], accepted_distribution=[1.0]
        ),
        lambda iteration: [trial.update(verdict="orphaned") for trial in iteration["trials"]],
    ):
        assert altered(change) is not None
