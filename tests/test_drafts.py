"""Draft sources that are no model: copied guesses against a slow reference, a source of a user, and what is refused."""

import re
from collections import Counter, defaultdict
from copy import copy
from pathlib import Path

import numpy as np
import pytest

import dsbd
from dsbd.drafts.lookup import LONGEST, SHORTEST, PromptLookup
from dsbd.drafts.source import CheckedSource
from dsbd.models.loading import sources_of
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.verification.beams import Node
from tests.toy_pair import read_settings, toy_model, toy_tokenizer

PROMPT = [1, 2, 3, 1, 2, 4, 1, 2, 3, 5, 1, 2]


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair(toy_model(1, 2), "lookup", toy_tokenizer())


def slow_distribution(text: list[int], path: list[int]) -> dict[int, float]:
    """Look for the last tokens of a path everywhere in the text, longest first."""
    probs, left = Counter(), 1.0
    for size in range(LONGEST, SHORTEST - 1, -1):
        last = path[-size:]
        ends = range(size, len(text)) if size <= len(path) else ()
        found = [text[end] for end in ends if text[end - size : end] == last]
        if found:
            for token in found:
                probs[token] += left * size / (size + 1) / len(found)
            left /= size + 1
    return probs


@pytest.mark.parametrize(
    ("shared", "tails"),
    [
        ([], [[]]),
        ([], [[3], [4, 1]]),
        ([3, 1], [[2], [2, 4], []]),
        ([7], [[7], []]),
        ([3, 5, 1, 2, 3], [[5, 1, 2, 3, 5, 9], []]),
    ],
)
def test_next_tokens_are_what_followed_in_the_text(shared: list[int], tails: list[list[int]]) -> None:
    """Catches an index that misses a place, mixes up beams, or takes in more than what the beams share."""
    root = Node(None, -1, 0)
    copies = PromptLookup()
    copies.begin(PROMPT, [root], 1)
    common, beams = root, list[Node]()
    for token in shared:
        common = common.child(token)
        copies.begin(PROMPT, [common], 1)  # the text grows over several iterations
    for tail in tails:
        node = common
        for token in tail:
            node = node.child(token)
        beams.append(node)
    for node, row in zip(beams, copies.begin(PROMPT, beams, 1) if shared else copies.extend(beams), strict=True):
        expected = slow_distribution([*PROMPT, *shared], [*PROMPT, *node.token_ids()])
        assert row.tokens.tolist() == sorted(expected)
        assert np.exp(row.log_probs) == pytest.approx([expected[token] for token in sorted(expected)])


@pytest.mark.parametrize("method", ["dsbd", "speculative_beam_search", "specinfer", "speculative"])
def test_traces_of_copied_drafts_pass_their_audit(method: str, pair: Pair) -> None:
    """Catches a record that names a draft model, or an audit that knows no iteration without drafts."""
    result = dsbd.decode(pair, "a b a b c a b a b", read_settings(method, max_new_tokens=24, seed=2), record=True)
    report = dsbd.verify_trace(result.trace)
    assert report.passed, report.failure
    assert result.trace.models.draft.id == "lookup"
    assert result.stats.draft_calls == 0
    assert max(iteration.draft_depth for iteration in result.trace.iterations) > 1


def source_of_the_page() -> dsbd.DraftSource:
    """Return the draft source of docs/models.md, of the ids of a text."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    names: dict = {"dsbd": dsbd, "Counter": Counter, "defaultdict": defaultdict}
    exec(re.search(r"^class Trigrams:.*?(?=^corpus)", page, re.S | re.M)[0], names)
    return names["Trigrams"](toy_tokenizer()("a b a b c a b a b").input_ids)


@pytest.mark.parametrize("settings", [{}, {"min_width": 2, "max_width": 2}, {"method": "specinfer"}], ids=str)
def test_a_source_of_a_user_drafts_and_changes_no_text(settings: dict) -> None:
    """Catches a source whose answers are not drawn from, whose trace does not follow, that two decodes share, or a
    coupled forest whose beams are not those of plain beam sampling."""
    source = source_of_the_page()
    pair = make_pair(toy_model(1, 2), source, toy_tokenizer())
    one, other = (dsbd.stream(pair, prompt, max_new_tokens=12, **settings) for prompt in ("a b a", "c a b"))
    updates = [(update, next(other, None)) for update in one]
    result = dsbd.decode(pair, "a b a", max_new_tokens=12, record=True, **settings)
    assert updates[-1][0].result.beams == result.beams
    report = dsbd.verify_trace(result.trace)
    assert report.passed, report.failure
    assert (result.trace.models.draft.id, result.trace.models.draft.attention) == ("trigrams of a corpus", "source")
    assert sum(len(iteration.nodes) for iteration in result.trace.iterations if iteration.draft_depth) > 0
    assert not hasattr(source, "prompt")
    if "max_width" in settings:
        plain = dsbd.decode(pair, "a b a", method="beam_sampling", num_beams=2, max_new_tokens=12)
        assert [beam.token_ids for beam in result.beams] == [beam.token_ids for beam in plain.beams]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], "answered for 0 nodes of 1"),
        ([dsbd.top_tokens({9: 0.5})], r"returned ids \[9\] .* give ascending ids below 5"),
        ([(np.array([2, 1]), np.zeros(2))], "ascending"),
        ([(np.array([1, 2]), np.array([0.0, -np.inf]))], "each with a finite number"),
    ],
)
def test_a_source_that_answers_wrongly_is_named(answers: list, message: str) -> None:
    """Catches ids that the target lacks, and unsorted ones, by which another distribution would be drawn from."""
    source = source_of_the_page()
    source.extend = lambda nodes: answers
    with pytest.raises(dsbd.ModelError, match=f"the draft source trigrams of a corpus.*{message}"):
        copy(CheckedSource(source, 5)).begin([1], [Node(None, -1, 0)], 1)


def test_what_is_refused_says_why(pair: Pair) -> None:
    """Catches joint tests of probabilities that lookup does not have."""
    with pytest.raises(dsbd.SettingsError, match="lookup has none"):
        dsbd.decode(pair, "a b", method="mjsd")
    assert sources_of(None, "lookup")[1] == sources_of("bundled:sql", "lookup")[1] == "lookup"
