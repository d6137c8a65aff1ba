"""Draft sources that are no model: copied guesses against a slow reference, a source of a user, and what is refused."""

import random
import re
import tracemalloc
from collections import Counter, defaultdict
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import dsbd
from dsbd.commands.verify_trace import replay
from dsbd.drafts.history import _unpacked as unpacked
from dsbd.drafts.lookup import Known, PromptLookup
from dsbd.drafts.source import CheckedSource
from dsbd.models.loading import sources_of
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.verification.beams import Node
from tests.toy_pair import read_settings, toy_model, toy_pair, toy_tokenizer

PROMPT = [1, 2, 3, 1, 2, 4, 1, 2, 3, 5, 1, 2]


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair(toy_model(1, 2), "lookup", toy_tokenizer())


def slow_distribution(texts: list[tuple[list[int], int, str]], path: list[int], length: int) -> dict[int, float]:
    """Look for the last tokens of a path everywhere, longest first.

    ``texts``: ids, how many of them are context, and whether they are expected, in the order of the tables.
    """
    probs, left = Counter(), 1.0
    for size in (8, 6, 4, 3, 2, 1):
        for kind in dict.fromkeys(name for _, _, name in texts):
            found = [
                ids[end]
                for ids, start, name in texts
                for end in range(max(size, start), len(ids))
                if name == kind and ids[end - size : end] == path[-size:] and size <= len(path)
            ]
            if found and (size > 1 or kind == "expected"):
                weight = len(found) / (len(found) + len(set(found)))
                for token in found:
                    probs[token] += left * weight / len(found)
                left *= 1 - weight
    for ids, start, name in texts:
        if name == "expected" and start + length < len(ids):
            left /= 2
            probs[ids[start + length]] += left
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
@pytest.mark.parametrize("guesses", [[], [[3, 1, 2, 9, 1, 2, 4, 4, 7]], [[2], [3, 9, 3, 1]]], ids=str)
@pytest.mark.parametrize(
    "answers", [None, [], [[1, 2, 3, 3], [3, 5, 1, 2], [3, 1, 2, 4, 1, 2, 3, 5, 1, 2, 3, 1]]], ids=str
)
def test_next_tokens_are_what_followed(shared: list[int], tails: list[list[int]], guesses, answers) -> None:
    """Catches an index that misses a place, mixes up beams, takes in more than what the beams share, or forgets a guess
    or an answer, or puts them in another order."""
    root, history, texts = Node(None, -1, 0), None, list[tuple[list[int], int, str]]()
    texts += [([*PROMPT[-8:], *guess], 8, "expected") for guess in guesses]
    texts += [([*PROMPT, *shared], 0, "text")]
    if answers is not None:
        history = dsbd.History()
        for answer in answers:
            history.add(answer, PROMPT[:3])
            texts += [([*PROMPT[:3], *answer], 3, "history")]
    copies = PromptLookup(Known(guesses, history))
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
    copies.read(PROMPT, beams)
    for node, row in zip(beams, copies.next_tokens(beams), strict=True):
        expected = slow_distribution(texts, [*PROMPT, *node.token_ids()], node.length)
        assert row.tokens.tolist() == sorted(expected)
        assert np.exp(row.log_probs) == pytest.approx([expected[token] for token in sorted(expected)])


def test_what_was_wrong_too_often_is_no_guess() -> None:
    """Catches a score of drafts instead of texts, one of other sizes, and guesses that never come back."""
    outcomes = list[bool]()
    for seed in range(20):
        source = random.Random(seed)
        guesses = [[3, 1, 2, 9, 1, 2, 4, 4, 7]] * (seed % 2)
        path = [source.choice([1, 2, 3]) for _ in range(9)] + PROMPT[1:]
        node, copies, right, tried = Node(None, -1, 0), PromptLookup(Known(guesses)), Counter(), Counter()
        for length, token in enumerate(path):
            ids = [*PROMPT, *path[:length]]
            texts = [*(([*PROMPT[-8:], *guess], 8, "expected") for guess in guesses), (ids, 0, "text")]
            known, size = slow_distribution(texts, ids, length), longest_match(texts, ids)
            share = 0.5
            for shorter in range(size + 1):
                share = (right[shorter] + share) / (tried[shorter] + 1)
            (row,) = copies.begin(PROMPT, [node], 1)
            assert row.tokens.tolist() == (sorted(known) if share >= 0.4 else [])
            if known:
                outcomes.append(share >= 0.4)
                tried[size] += 1
                right[size] += max(known, key=known.get) == token
            node = node.child(token)
    changes = Counter(pairwise(outcomes))
    assert min(changes[True, False], changes[False, True]) > 5


def longest_match(texts: list[tuple[list[int], int, str]], path: list[int]) -> int:
    """Return how many of a path's last tokens occur elsewhere, of the sizes that are compared."""
    return max(
        (
            size
            for size in (8, 6, 4, 3, 2, 1)
            for ids, start, kind in texts
            for end in range(max(size, start), len(ids))
            if (size > 1 or kind == "expected") and ids[end - size : end] == path[-size:]
        ),
        default=0,
    )


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


ANSWERS = [[random.Random(seed).randrange(5) for _ in range(seed % 23)] for seed in range(40)]


def test_a_history_forgets_the_oldest_and_nothing_else(tmp_path: Path) -> None:
    """Catches counts that are not taken back, or of the wrong answer, and a file that holds something else."""
    history = dsbd.History(most_tokens=100)
    for answer in ANSWERS:
        history.add(answer, [4, 3])
    kept = next(ANSWERS[at:] for at in range(40) if sum(map(len, ANSWERS[at:])) <= 100)
    expected = dsbd.History(most_tokens=100)
    for answer in kept:
        expected.add(answer, [4, 3])
    history.save(tmp_path / "answers.json")
    for one in (history, dsbd.History.load(tmp_path / "answers.json")):
        assert len(one) == sum(map(len, kept))
        assert {key: unpacked(value) for key, value in vars(one.continuations)["_table"].items()} == {
            key: unpacked(value) for key, value in vars(expected.continuations)["_table"].items()
        }
    history.add(range(1000))
    assert len(history) == 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no dsbd-history/1"),
        ('{"format": "dsbd-trace/2"}', "format is 'dsbd-trace/2'"),
        ('{"format": "dsbd-history/1", "most_tokens": 0, "answers": []}', "most_tokens is 0; allowed"),
        (
            '{"format": "dsbd-history/1", "most_tokens": 9, "answers": [{"ids": [1.5], "context": []}]}',
            "give a list of ids",
        ),
        (
            '{"format": "dsbd-history/1", "most_tokens": 9, "answers": [{"ids": [-1], "context": []}]}',
            "give a list of ids",
        ),
        ('{"format": "dsbd-history/1", "most_tokens": 9, "answers": [3]}', "no dsbd-history/1"),
    ],
)
def test_a_file_that_is_no_history_is_refused(content: str, message: str, tmp_path: Path) -> None:
    """Catches a file of another kind that is read, or that ends in an error of Python."""
    (tmp_path / "answers.json").write_text(content)
    with pytest.raises(dsbd.SettingsError, match=message):
        dsbd.History.load(tmp_path / "answers.json")


def test_a_history_stays_small() -> None:
    """Catches an index that keeps 100,000 tokens in more than 50 MB: random ones share no context."""
    source, history = random.Random(0), dsbd.History()
    tracemalloc.start()
    for _ in range(100):
        history.add([source.randrange(50_000) for _ in range(100)])
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 10 * size < 50e6


REFUSED = [
    ({"guess": ""}, "guess is ''; give a text"),
    ({"guess": [""]}, "none empty"),
    ({"guess": 7}, "guess is 7; give a text, ids"),
    ({"guess": [999_999]}, "guess has ids from 999999 to 999999; allowed are 0 to 259"),
    ({"guess": [[3, -1]]}, "guess has ids from -1 to 3"),
    ({"history": "a.json"}, "history is 'a.json'; give a dsbd.History"),
    ({"guess": "a", "method": "beam_sampling"}, "method beam_sampling drafts nothing here; leave it out"),
    ({"guess": "a", "draft_depth": 0}, "drafts nothing here"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=str)
def test_a_guess_that_cannot_serve_is_refused(options: dict, message: str, pair: Pair) -> None:
    """Catches a guess that is ignored, or ids that the target lacks."""
    with pytest.raises(dsbd.SettingsError, match=message):
        dsbd.decode(pair, "a b", **options)


def test_nothing_of_an_answer_outlives_its_decode() -> None:
    """Catches a store that callers share: the second decode of a prompt takes as many passes as the first, unless its
    caller brings a history."""
    pair, history = replace(toy_pair(), draft=None), dsbd.History()

    def decode(**known):
        return dsbd.decode(pair, "a b a", max_new_tokens=24, min_width=1, max_width=1, **known)

    alone = decode(history=dsbd.History()), decode(history=dsbd.History())
    own = decode(history=history), decode(history=history)
    last = decode(history=dsbd.History())
    assert len({one.stats.iterations for one in (*alone, own[0], last)}) == 1
    assert own[1].stats.iterations < last.stats.iterations / 1.5
    assert len({one.text for one in (*alone, *own, last)}) == 1
    assert len(history) == 2 * len(last.token_ids)


@pytest.mark.parametrize("settings", [{"min_width": 2, "max_width": 2}, {"method": "specinfer"}, {}], ids=str)
def test_a_guess_beside_a_draft_model_is_checked_first(settings: dict) -> None:
    """Catches a draft model that is asked where the guess is sure, or that misses the layers between, and a trace with
    a guess that does not follow or is not replayed."""
    pair, options = toy_pair(), {"max_new_tokens": 24, "seed": 1, **settings}
    plain = dsbd.decode(pair, "a b a", **options)
    result = dsbd.decode(pair, "a b a", guess=[plain.token_ids], record=True, **options)
    assert result.stats.draft_calls / result.stats.layers < plain.stats.draft_calls / plain.stats.layers
    assert dsbd.verify_trace(result.trace).failure is None
    loaded = dsbd.Trace.loads(result.trace.dumps())
    assert loaded.guess == [plain.token_ids]
    assert replay(loaded, pair) == {"difference": None, "largest": pytest.approx(0, abs=1e-6)}
    history = dsbd.History()
    history.add(plain.token_ids)
    remembered = dsbd.decode(pair, "a b a", history=history, record=True, **options).trace
    assert remembered.history == len(plain.token_ids)
    assert dsbd.verify_trace(remembered).failure is None
    difference = replay(remembered, pair)["difference"]
    assert difference is None if "max_width" in settings else "came from a history" in difference
