"""Decodes under processed laws, against enumeration and against a model that has the processing in its forward."""

from collections import Counter
from itertools import product

import pytest
import torch
from transformers import LogitsProcessorList, NoBadWordsLogitsProcessor, NoRepeatNGramLogitsProcessor

import dsbd
from tests.toy_pair import EOS, read_settings, toy_pair

LETTERS = torch.tensor([10, 20, 30])
RUNS = 400


def letters_that_change(ids, scores):
    """Allow three letters, never the same one twice in a row: what is allowed depends on the sequence."""
    processed = torch.full_like(scores, -torch.inf)
    processed[:, LETTERS] = scores[:, LETTERS]
    return processed.scatter(1, ids[:, -1:], -torch.inf)


def law_of_three_letters(prompt: str) -> dict[tuple[int, ...], float]:
    """Enumerate a model's processed law of three tokens, one forward per beginning: the slow obvious twin."""
    pair = toy_pair()
    start, law = pair.encode(prompt), dict[tuple[int, ...], float]()
    for word in product(LETTERS.tolist(), repeat=3):
        probability, ids = 1.0, list(start)
        for token in word:
            with torch.inference_mode():
                logits = pair.target.model(torch.tensor([ids])).logits[:, -1]
            row = letters_that_change(torch.tensor([ids]), logits).softmax(dim=1)[0]
            probability *= float(row[token])
            ids.append(token)
        if probability > 0:
            law[word] = probability
    return law


def decoded(method: str, processors=(letters_that_change,), **values) -> dsbd.DecodingResult:
    settings = read_settings(method, **{"max_new_tokens": 3, "top_k": 0} | values)
    return dsbd.decode(toy_pair(), "One day", settings, processors=processors)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"method": "speculative", "draft_depth": 2},
        {"method": "specinfer", "branching": (2, 2)},
        {"method": "dsbd", "min_width": 1, "max_width": 1, "draft_depth": 2, "draft_width": 2},
    ],
    ids=lambda values: values["method"],
)
def test_the_law_is_that_of_the_processed_target(values):
    """Catches a side whose logits are not processed, and processing of another sequence than the node's own."""
    law = law_of_three_letters("One day")
    assert sum(law.values()) == pytest.approx(1)
    found = Counter(tuple(decoded(seed=seed, **values).token_ids) for seed in range(RUNS))
    assert set(found) <= set(law)
    for word, probability in law.items():
        spread = 5 * (probability * (1 - probability) / RUNS) ** 0.5 + 2 / RUNS  # five standard errors and two decodes
        assert found[word] / RUNS == pytest.approx(probability, abs=spread)


def test_beams_are_those_of_the_enumeration():
    """Catches a law that is warped or normalised before it is processed, and a forest that changes the hypotheses."""
    law = law_of_three_letters("One day")
    likeliest = max(law, key=lambda word: law[word])
    searched = decoded("beam_search", num_beams=12)
    assert tuple(searched.token_ids) == likeliest
    assert searched.beams[0].log_weight == pytest.approx(torch.tensor(law[likeliest]).log().item())
    drafted = decoded("speculative_beam_search", num_beams=12)
    assert [beam.token_ids for beam in drafted.beams] == [beam.token_ids for beam in searched.beams]


def test_a_processor_that_does_nothing_changes_nothing():
    """Catches rows in another order, and logits that lose digits on the way."""
    for seed in range(4):
        with_it = decoded("dsbd", [lambda ids, scores: scores], seed=seed, max_new_tokens=16, cover_width=3)
        without = decoded("dsbd", (), seed=seed, max_new_tokens=16, cover_width=3)
        assert with_it.beams == without.beams


def test_processors_of_transformers_work():
    """Catches sequences without their prompt, and processors applied to one of them only."""
    banned = NoBadWordsLogitsProcessor([[7], [8, 9]], eos_token_id=[EOS])
    for method in ("dsbd", "beam_sampling", "specinfer", "mjsd", "greedy"):
        result = decoded(method, LogitsProcessorList([NoRepeatNGramLogitsProcessor(1), banned]), max_new_tokens=20)
        prompt = toy_pair().encode("One day")
        for beam in result.beams:
            assert len(set(prompt[-1:] + beam.token_ids)) == 1 + len(beam.token_ids)
            assert 7 not in beam.token_ids


def test_no_processor_sees_a_sequence_that_no_beam_can_hold():
    """Catches a grammar that is asked about what it forbade, or about what follows EOS, and raises."""

    def strict(ids, scores):
        for sequence in ids.tolist():
            new = sequence[len(toy_pair().encode("One day")) :]
            assert EOS not in new
            assert set(new) <= {*LETTERS.tolist(), EOS}
        processed = torch.full_like(scores, -torch.inf)
        processed[:, [*LETTERS.tolist(), EOS]] = scores[:, [*LETTERS.tolist(), EOS]]
        return processed

    for replacement in (True, False):
        decoded("dsbd", [strict], max_new_tokens=8, draft_width=8, replacement=replacement, cover_width=4, seed=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": True}, "a trace does not hold"),
        ({"settings": dsbd.DecodingSettings(draft_depth="auto")}, "auto measures without them"),
        ({"settings": dsbd.DecodingSettings(method="mjgd")}, "mjgd searches"),
        ({"processors": ["strict"]}, "give a list of functions"),
    ],
    ids=["record", "auto", "mjgd", "no function"],
)
def test_what_cannot_be_combined_is_refused(changes, message):
    with pytest.raises(dsbd.SettingsError, match=message):
        dsbd.decode(toy_pair(), "One day", **{"processors": [letters_that_change]} | changes)
    with pytest.raises(dsbd.ModelError, match="forbid every next token"):
        decoded("sampling", [lambda ids, scores: torch.full_like(scores, -torch.inf)])
