"""The limits of the page: read from the environment, checked at the start, the same for the form and for programs."""

import pytest

from dsbd.errors import SettingsError
from dsbd.settings import DecodingSettings
from tests.toy_pair import read_settings
from ui.host.limits import Limits, check_decode, check_race, setting

VOCABULARY = 4096
AUTO = {"forest": "auto", "draft_depth": "auto", "draft_width": "auto", "cover_width": "auto"}


def test_limits_come_from_the_environment():
    limits = Limits.from_environment({"DSBD_MAX_NODES": "64", "DSBD_DECODE_SECONDS": "", "HOME": "/"})
    assert limits == Limits(max_nodes=64)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("max_nodes", "many", "allowed are whole numbers from 1 to 100,000"),
        ("decode_seconds", "0", "allowed are whole numbers from 1 to 86,400"),
        ("frame_ancestors", "*; script-src *", "write 'none', 'self', * or origins, with spaces between them"),
    ],
)
def test_a_wrong_limit_is_named_with_its_range(name, value, allowed):
    """Catches a page that starts with a limit it does not have, a rule that opens the policy, and half a range."""
    with pytest.raises(SettingsError) as caught:
        Limits.from_environment({setting(name): value})
    what = Limits.model_fields[name].description
    assert str(caught.value) == f"{setting(name)} is {value!r} ({what}); {allowed}"


def test_a_space_may_be_embedded_by_its_host():
    assert "huggingface.co" in Limits.from_environment({"SPACE_ID": "me/dsbd"}).frame_ancestors
    assert Limits.from_environment({"SPACE_ID": "me/dsbd", "DSBD_FRAME_ANCESTORS": "none"}).frame_ancestors == "none"


NODES = {"max_width": 3, "draft_width": 4, "draft_depth": 5, "cover_width": 6, "max_new_tokens": 10}
BRANCHES = {"method": "specinfer", "branching": (3, 2), "max_new_tokens": 10, "top_k": 7}


@pytest.mark.parametrize(
    ("settings", "limit", "most", "named"),
    [
        (NODES, "max_beams", 3, "beams"),
        (NODES, "max_draft_width", 4, "nodes of a drafted layer"),
        (NODES, "max_new_tokens", 10, "max_new_tokens"),
        (NODES, "max_nodes", 3 + 5 * (4 + 6), "nodes to score"),
        (NODES, "max_beam_tokens", 3 * 10, "times beams"),
        (NODES, "max_cache_slots", 100 + 3 * 10 + 53, "cache slots"),
        (NODES | {"top_k": 7}, "max_pairs", (5 + 6) * 7, "pairs"),
        (NODES | {"top_k": 0}, "max_pairs", (5 * 4 + 6 * 3) * VOCABULARY, "pairs"),
        (AUTO | {"max_new_tokens": 10}, "max_nodes", 4 + 24 * 12, "nodes to score"),
        (BRANCHES, "max_nodes", 1 + 3 + 6, "nodes to score"),
        (BRANCHES, "max_pairs", (1 + 3 + 3) * 7, "pairs"),
    ],
)
def test_what_a_run_needs_is_counted_by_hand(settings, limit, most, named):
    """Catches a part that is left out, cover nodes or the prompt, and a limit that is off by one."""
    asked = DecodingSettings(**settings)
    check_decode(Limits(**{limit: most}), asked, VOCABULARY, 100)
    with pytest.raises(SettingsError, match=f"{named}.*: {most:,} asked for, {most - 1:,} allowed"):
        check_decode(Limits(**{limit: most - 1}), asked, VOCABULARY, 100)


@pytest.mark.parametrize("method", ["dsbd", "beam_sampling"])
def test_what_the_form_can_ask_is_allowed(method):
    """Catches limits that refuse plain work, ``auto`` included, and a form whose sliders are refused together."""
    largest = {"max_new_tokens": 256, "draft_depth": 8, "draft_width": 16, "cover_width": 32, "top_k": 200}
    for changed in ({}, AUTO, {"forest": "likely", "draft_width": 16}, {"num_beams": 16, **largest}):
        check_decode(Limits(), read_settings(method, **changed), VOCABULARY, 1000)


def test_a_race_is_bounded_as_a_whole():
    """Catches runs, questions or decoders that do not count."""
    each = [DecodingSettings(method=method, max_new_tokens=100) for method in ("beam_sampling", "greedy")]
    check_race(Limits(), each, 100, 2)
    for changed in ((each * 2, 100, 2), (each, 201, 1), (each, 100, 3)):
        with pytest.raises(SettingsError, match="decodes: "):
            check_race(Limits(), *changed)
    check_race(Limits(max_evaluated_tokens=100_000), each, 100, 2)
    with pytest.raises(SettingsError, match="times beams of all decodes: 100,000 asked for"):
        check_race(Limits(max_evaluated_tokens=99_999), each, 100, 2)
    with pytest.raises(SettingsError, match="runs: 6"):
        check_race(Limits(), each, 1, 6)
