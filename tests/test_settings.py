"""Settings are checked once, at construction, and say what is allowed; every method resolves to what it runs."""

import json
import math
import runpy
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import dsbd
from dsbd.cli import parser
from dsbd.commands.parser import settings_of_flags, value_of_text
from dsbd.errors import SettingsError
from dsbd.methods import DRAFTING_METHODS, PROBE_EVERY, READS, WORTHWHILE, DepthPolicy, expected_layers, resolve
from dsbd.models.loading import resolve_dtype
from dsbd.settings import EVERY_METHOD, FIELDS, METHODS, DecodingSettings, ResolvedSettings, branching_of, fields_of
from tests.toy_pair import OTHER, fitting, toy_pair

COUPLED = {"forest": "coupled", "min_width": 4, "max_width": 4}
FORESTS_BY_DEFAULT = [
    ({}, "coupled"),
    ({"temperature": 0.0, "cover_width": 3}, "coupled"),
    ({"max_width": 7}, "sampled"),
    ({"replacement": False}, "sampled"),
    ({"landing": False}, "sampled"),
    ({"input_beams": 2}, "sampled"),
    ({"replacement": False, "forest": "coupled", "max_width": 6}, "coupled"),
]
"""What ``forest`` is where nothing is said, by what else is."""
BAD = {
    "choice": lambda about: ["magic"],
    "switch": lambda about: [1, "yes"],
    "whole": lambda about: [about.low - 1, about.high + 1, about.low + 0.5, True],
    "number": lambda about: [about.low - 0.1, about.high * 1.1, math.nan, math.inf, "hot", 10**400],
    "wholes": lambda about: [(), 4, (0, 2), (17,), (2.0,), (True,), (1,) * 9, (16, 16)],
    "numbers": lambda about: [
        (1.0,), (1, 1, 1, 1, 0), "12345", (1, 1, 1, 1, math.nan), 5, (1, 1, 1, 1, True), (10**400,) * 5
    ],
}  # fmt: skip
"""Values that a setting of each kind refuses."""


def read_by(method: str) -> dict:
    names = {one.name for one in fields_of(method)} - {"depth_costs"}
    return {name: value for name, value in (OTHER | {"forest": "sampled"}).items() if name in names}


@pytest.mark.parametrize(
    ("name", "value"),
    [("top_p", 0), *((name, value) for name, about in FIELDS.items() for value in BAD[about.kind](about))],
    ids=repr,
)
def test_bad_values_are_named(name, value):
    """Catches a bad value that is accepted, or refused without naming the setting and the value in one line."""
    with pytest.raises(SettingsError) as error:
        DecodingSettings(**{name: value})
    message = str(error.value)
    assert message.startswith(f"{name} is {value!r}; ")
    assert "\n" not in message


def test_the_table_holds_every_setting():
    """Catches a field without a range, a label or a reader."""
    assert FIELDS.keys() == {one.name for one in fields(DecodingSettings)} == OTHER.keys() | {"method"}
    for name, about in FIELDS.items():
        assert about.name == name
        assert about.label and about.help and about.allowed  # noqa: PT018
        assert set(about.methods) <= set(METHODS)


def test_tables_made_of_the_settings_are_up_to_date():
    """Catches a table of the documentation, or of the decoder in the browser, that was not made again."""
    makers = runpy.run_path(str(Path(__file__).resolve().parents[1] / ".ci" / "settings_tables.py"))
    for path, text in makers["files"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: PYTHONPATH=. python .ci/settings_tables.py"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_refuses_what_it_does_not_read(method):
    """Catches a value that was set and changes nothing, such as num_beams of dsbd; and one refused that the method has
    anyway, such as a temperature of 0 of greedy."""
    plan = asdict(resolve(DecodingSettings(method=method))) | ({} if method == "dsbd" else {"num_beams": 1})
    for name in FIELDS.keys() - READS[method] - {*EVERY_METHOD, "method", "branching"}:
        assert resolve(DecodingSettings(method=method, **{name: plan[name]})) == resolve(
            DecodingSettings(method=method)
        )
    for name, value in OTHER.items():
        if value == plan[name]:
            continue
        if method in FIELDS[name].methods:
            DecodingSettings(method=method, **fitting({name: value}))
            continue
        with pytest.raises(SettingsError) as error:
            DecodingSettings(method=method, **{name: value})
        assert f"{name} is {value!r}, and method {method} does not read it; leave it out" in str(error.value)
        assert ", ".join(FIELDS[name].methods) in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_width": 3, "max_width": 2}, "max_width is 2, below min_width 3"),
        ({"draft_depth": "auto", "depth_costs": (1, 1, 1, 1, 1)}, "depth_costs is .* draft_depth given"),
        ({"method": "mjsd", "draft_width": "auto"}, "mjsd takes whole numbers"),
        ({"method": "beam_sampling", "forest": "sampled"}, "beam_sampling does not read it"),
        ({"forest": "auto"}, "forest is 'auto'; allowed are sampled, coupled, None"),
        ({"forest": "likely"}, "forest is 'likely'; allowed are sampled, coupled, None"),
        (
            COUPLED | {"min_width": 2},
            "'coupled' and min_width is 2, below max_width 4; make them equal, or take forest=",
        ),
        (COUPLED | {"min_width": 3, "max_width": None}, "min_width is 3, below max_width 4; make them equal"),
        (
            COUPLED | {"landing": False},
            "forest is 'coupled' and landing is False; leave it True, or take forest='sampled'",
        ),
        (
            COUPLED | {"input_beams": 2},
            "forest is 'coupled' and input_beams is 2; leave it None, or take forest='sampled'",
        ),
        ({"method": "specinfer", "branching": None}, "specinfer needs it"),
        ({"num_beams": 2}, "the width of dsbd is min_width and max_width"),
        ({"colour": 1}, "unknown setting 'colour'; known are block, branching"),
        ({"tempereture": 1}, "unknown setting 'tempereture'; did you mean temperature?"),
        ([], "give a dictionary"),
    ],
    ids=str,
)
def test_what_contradicts_itself_or_is_unknown_is_refused(values, message):
    with pytest.raises(SettingsError, match=message):
        DecodingSettings.from_dict(values)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_resolves_to_itself_again(method):
    """Catches resolved settings that change when they are resolved again: a replay would differ."""
    for settings in (DecodingSettings(method=method), DecodingSettings(method=method, **read_by(method))):
        plan = resolve(settings)
        assert resolve(plan) == plan
        plain = json.loads(json.dumps(asdict(plan)))
        assert resolve(DecodingSettings.from_dict(plain)) == plan
        assert (plan.draft_depth > 0) == (method in DRAFTING_METHODS or method == "mjgd")
        assert plan.lossless == (method not in ("mjsd", "mjgd"))
        assert (plan.branching is not None) == (method == "specinfer")
        assert not plan.is_auto


@pytest.mark.parametrize(
    ("values", "resolved"),
    [
        ({"draft_width": 5, "min_width": 2}, {"max_width": 5, "layer_drafts": (5,) * 4}),
        ({"draft_width": 5, "min_width": 7}, {"max_width": 7}),
        ({}, {"forest": "sampled", "min_width": 1, "max_width": 6}),
        ({"draft_width": 9, "min_width": 4, "forest": "coupled"}, {"max_width": 4, "landing": True}),
        *(({"min_width": 6} | changes, {"forest": forest}) for changes, forest in FORESTS_BY_DEFAULT),
        ({"method": "beam_sampling", "replacement": False}, {"forest": "coupled", "landing": False}),
        ({"method": "sampling"}, {"forest": "coupled"}),
        ({"method": "speculative_beam_search"}, {"forest": "coupled", "landing": True}),
        *(({"method": method}, {"forest": "sampled"}) for method in ("speculative", "specinfer", "mjsd", "mjgd")),
        ({"max_width": 2}, {"max_width": 2}),
        ({"draft_width": 256}, {"max_width": 64}),  # no refusal speaks of a max_width that nobody set
        ({"method": "speculative"}, {"max_width": 1, "draft_width": 1}),
        ({"method": "greedy"}, {"temperature": 0.0, "max_width": 1}),
        ({"method": "beam_search", "num_beams": 3}, {"min_width": 3, "max_width": 3, "replacement": False}),
        ({"method": "specinfer"}, {"draft_depth": 3, "max_width": 1, "replacement": True, "layer_drafts": (4, 8, 16)}),
        ({"method": "specinfer", "temperature": 0.0}, {"replacement": False}),  # else equal children
        ({"method": "specinfer", "branching": [16, 15]}, {"branching": (16, 15), "draft_depth": 2}),  # 256 nodes
        ({"method": "mjgd", "block": 3}, {"draft_depth": 3, "searches_blocks": True}),
    ],
    ids=str,
)
def test_what_a_method_implies(values, resolved):
    plan = resolve(DecodingSettings(**values))
    assert {name: getattr(plan, name) for name in resolved} == resolved
    with pytest.raises(SettingsError, match="stream resolve it"):
        ResolvedSettings(draft_depth="auto")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("draft_depth", "Auto", "auto"),
        ("max_width", "None", None),
        ("temperature", "1e-1", 0.1),
        ("branching", "3x2", (3, 2)),
        ("branching", "4,2,2", (4, 2, 2)),
        ("depth_costs", "1:2:5", (1.0, 2.0, 5.0)),
        ("depth_costs", "none", None),
        ("seed", "z" * 5000, "z" * 80),
    ],
    ids=lambda value: str(value)[:9],
)
def test_a_text_is_one_value(name, text, value):
    """Catches a setting that is read in another way than its help says, and a tree that is no tree."""
    assert value_of_text(name, text) == value
    for text in ("", "4,", "four", "4 2"):
        with pytest.raises(SettingsError, match="branching"):
            branching_of(text)


def test_every_setting_is_a_flag():
    """Catches a field of DecodingSettings without a flag, and a value that does not arrive."""
    for method in METHODS:
        values = {"method": method} | read_by(method)
        flags = ["decode", "--prompt", "x"]
        for name, value in values.items():
            flag = name.replace("_", "-")
            flags += [f"--no-{flag}"] if value is False else [f"--{flag}", str(value).strip("()")]
        assert settings_of_flags(parser().parse_args(flags)) == DecodingSettings(**values)


def test_numbers_of_other_libraries_are_plain_and_none_is_a_choice():
    """Catches a refused number of NumPy, a seed that nobody can give again, and a field whose name is dropped."""
    values = {
        "temperature": np.float32(0.5),
        "top_k": np.int64(3),
        "draft_depth": torch.tensor(2),
        "landing": np.False_,
    }
    plain = DecodingSettings(**values)
    assert plain == DecodingSettings(temperature=0.5, top_k=3, draft_depth=2, landing=False)
    assert [type(getattr(plain, name)) for name in values] == [float, int, int, bool]
    assert resolve_dtype(torch.float64, torch.device("cpu")) == resolve_dtype("float64", torch.device("cpu"))
    drawn = DecodingSettings(seed=None, top_k=None)
    assert (drawn.top_k, drawn == DecodingSettings(seed=drawn.seed, top_k=0)) == (0, True)
    assert drawn.seed != DecodingSettings(seed=None).seed
    for call in (DecodingSettings, partial(replace, drawn), partial(dsbd.decode, toy_pair(), "Once")):
        with pytest.raises(SettingsError, match="unknown setting 'temprature'; did you mean temperature"):
            call(temprature=1.0)
    result = dsbd.decode(toy_pair(), "Once", drawn, max_new_tokens=3, method="sampling")
    assert (result.settings.seed, result.settings.max_new_tokens) == (drawn.seed, 3)


def test_depth_follows_layers_per_cost():
    """Catches a depth that does not follow its formula, forgets nothing, or reads what it has not seen."""
    costs = (1.0, 1.4, 1.6, 1.8, 2.0)
    assert DepthPolicy(4, None, 0.1).choose() == 4
    assert DepthPolicy(0, None, 0.1).choose() == 0
    assert DepthPolicy(2, (1.0, 1.0, 1.5), 1.0).choose() == 1, "of depths that promise the same, the cheaper"
    for rate in (0.05, 0.3, 0.6, 0.9, 0.99):
        worth = [expected_layers(rate, depth) / costs[depth] for depth in range(5)]
        best = max(range(1, 5), key=lambda depth: worth[depth])
        assert DepthPolicy(4, costs, rate).choose() == (best if worth[best] > WORTHWHILE * worth[0] else 0)
    policy = DepthPolicy(4, costs, 0.9)
    for _ in range(100):
        policy.observe(4, 0, True)
    assert policy.choose() == 0
    for _ in range(PROBE_EVERY - 1):
        policy.observe(0, 0, False)
    assert policy.choose() > 0, "one iteration in many looks whether drafting pays again"
    policy.observe(1, 0, True)
    assert policy.choose() == 0
    for _ in range(100):
        policy.observe(4, 4, False)
    assert policy.choose() == 4
