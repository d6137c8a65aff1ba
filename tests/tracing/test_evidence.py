"""What a recorded trace proves: an altered field does not follow, or the audit says that only the digest seals it."""

import copy
import random
from functools import cache

import pytest

import dsbd
from dsbd.assets import asset_path
from dsbd.tracing.trace import Trace, canonical_digest
from tests.command_line import run
from tests.toy_pair import toy_pair
from tests.tracing.forger import Forger, answer, holds, resealed, sealed_places
from tests.visualize.toy import FOLDER

SMALL = {path.name.removesuffix(".json.gz"): path for path in FOLDER.glob("*.gz")}
RECORDED = {path.name: path for name in ("traces", "lessons/traces") for path in asset_path(name).glob("*.gz")}
TRACES = SMALL | RECORDED
VARIED = ("toy", "likely", "joint", "block", "tree", "distinct-tree", "chance", "ruled")
"""One of each method and verification."""


@cache
def trace_of(name: str) -> Trace:
    return Trace.load(TRACES[name])


@cache
def sealed(name: str) -> tuple[str, ...]:
    return dsbd.verify_trace(trace_of(name), list_sealed=True).sealed


@pytest.mark.parametrize("name", sorted(TRACES))
def test_recorded_traces_follow_and_keep_their_digests(name):
    """Catches an audit that raises a false alarm, and a change of what a digest covers."""
    trace = trace_of(name)
    assert dsbd.verify_trace(trace).failure is None
    assert canonical_digest(trace) == trace.digest
    assert resealed(trace.to_dict()) == trace


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in VARIED else [pytest.mark.slow]) for name in sorted(TRACES)],
)
def test_every_kind_of_field_is_decided_or_listed(name):
    """Catches a number, a verdict or a word that the audit takes as recorded, of any method and verification."""
    trace, places = trace_of(name), sealed_places(trace_of(name))
    forger, seen = Forger(trace, random.Random(1)), []
    for kind in forger.leaves:
        altered = forger.alter_kind(kind, places)
        if altered is not None:
            seen.append(answer(altered, trace, places))
            assert seen[-1] in ("caught", "refused"), (kind, altered.what)
    assert seen.count("caught") > 50


@pytest.mark.parametrize(
    ("name", "kind"),
    [("toy", "trials"), ("tree", "trials"), ("block", "beginnings"), ("toy", "draws"), ("joint", "draws")],
)
def test_a_random_number_beyond_its_bound_is_caught(name, kind):
    """Catches an audit that takes a verdict or a draw as recorded: the list names every uniform, within its bounds."""
    data = trace_of(name).to_dict()
    for iteration in data["iterations"][:3]:
        for item in iteration[kind]:
            high = item["cdf_high"] if kind == "draws" else item["acceptance"]
            uniform = item["uniform"]
            if uniform is not None and 1e-3 < high < 0.999:
                item["uniform"] = (1 + high) / 2 if uniform < high else high / 2
                assert "digest" not in dsbd.verify_trace(resealed(data)).failure
                item["uniform"] = uniform


WHOLE = {("software",), ("models",), ("prompt",), ("iterations", "phases"), ("iterations", "kept")}
FIELDS = {
    "iterations.draws.uniform", "iterations.layers.alternatives.text", "iterations.layers.alternatives.token_id",
    "iterations.nodes.bytes", "iterations.nodes.text", "iterations.nodes.token_id", "result.beams.text",
    "result.beams.token_ids", "result.stats.kv_peak_bytes", "result.stats.prefill_seconds", "result.text",
    "result.token_ids", "settings.continuation", "settings.num_beams", "settings.seed",
}  # fmt: skip
SETTINGS = {
    "joint": {"draft_width", "top_k", "top_p"},
    "tree": {"top_k", "top_p"},
    "distinct-tree": {"top_k", "top_p"},
    "block": {"top_k", "top_p", "depth_costs"},
    "likely": {"top_k", "top_p", "depth_costs", "input_beams", "width_threshold"},
    "4-cover-nodes.json.gz": {"depth_costs", "input_beams", "width_threshold"},
}
"""Settings that did not matter in a run, beside those of FIELDS."""


@pytest.mark.parametrize("name", SETTINGS)
def test_only_these_fields_are_sealed_wherever_they_stand(name):
    """Catches an audit that lists as sealed what it should decide: all other fields decide something in these runs."""
    places = sealed_places(trace_of(name))
    found = set()
    for kind, leaves in Forger(trace_of(name), random.Random(1)).leaves.items():
        names = tuple(str(step) for step in kind if step != "*")
        if all(holds(places, place) for place in leaves) and not {names[:1], names[:2]} & WHOLE:
            found.add(".".join(names))
    assert found == FIELDS | {f"settings.{setting}" for setting in SETTINGS[name]}


def test_the_list_follows_from_the_trace():
    """Catches a fixed text: beam sampling has no drafts, and a run in which landing mattered does not list it."""
    assert not any("draft_log_prob" in line for line in sealed("6-beam-sampling.json.gz"))
    assert any("draft_log_prob" in line for line in sealed("1-dynamic-width.json.gz"))
    assert not any(line.startswith("settings.landing") for line in sealed("1-dynamic-width.json.gz"))
    assert any(line.startswith("settings.landing") for line in sealed("3-without-replacement.json.gz"))


def test_verify_trace_lists_what_is_sealed(capsys):
    """Catches a report that leaves the list out."""
    code, out, _ = run(capsys, "verify-trace", str(RECORDED["1-dynamic-width.json.gz"]))
    assert code == 0
    assert "sealed by the digest only:" in out
    assert all(line in out for line in sealed("1-dynamic-width.json.gz"))


WIDTHS = {
    "width_rule_sampling": [{"width": 9}, {"width_reason": "bonus"}, {"kind": "draft"}, {"width_uniform": 0.5}],
    "random_width": [{"width": 9}, {"width_uniform": None}, {"width_reason": "bonus"}],
}


@pytest.mark.parametrize("method", WIDTHS)
def test_a_width_that_was_chosen_without_drafts_is_decided_again(method):
    """Catches an audit that takes any width where nothing was drafted."""
    settings = dsbd.DecodingSettings(method=method, max_new_tokens=6, num_beams=4, width_threshold=0.1)
    data = dsbd.decode(toy_pair(), "Once upon", settings, record=True).trace.to_dict()
    layer = data["iterations"][1]["layers"][0]
    for change in WIDTHS[method]:
        before = layer.copy()
        layer.update(change)
        assert "iteration 2" in dsbd.verify_trace(resealed(data)).failure, change
        layer.update(before)
    if method == "random_width":
        layer["width_uniform"] = (layer["width_uniform"] + 0.5) % 1.0
        assert "chosen width" in dsbd.verify_trace(resealed(data)).failure


def test_a_block_that_cannot_be_is_refused_without_a_traceback():
    """Catches a division by a p of 0, or a chain that is read beyond its end."""
    plain = trace_of("block").to_dict()
    place = next(place for place, one in enumerate(plain["iterations"]) if len(one["beginnings"]) > 1)

    def altered(change) -> str | None:
        data = copy.deepcopy(plain)
        change(data["iterations"][place])
        return dsbd.verify_trace(resealed(data)).failure

    least = {"probability": 0.0, "rest": 1e-12, "acceptance": 1e-12, "uniform": 0.0}
    no_chain = {"chain_c": [0.0], "chain_S": [1.0], "acceptance_chain": [], "accepted_distribution": [1.0]}
    for change in (
        lambda iteration: iteration["beginnings"].clear(),
        lambda iteration: iteration["beginnings"].pop(),
        lambda iteration: [one.update(least) for one in iteration["beginnings"]],
        lambda iteration: [one.update(probability=1.0 + 1e-10, rest=1e-10) for one in iteration["beginnings"]],
        lambda iteration: iteration["layers"][0].update(draws_planned=0, **no_chain),
        lambda iteration: [trial.update(verdict="orphaned") for trial in iteration["trials"]],
    ):
        assert altered(change) is not None
