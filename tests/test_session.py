"""The state between iterations: counts, candidates that a stream shows, room for slots."""

from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd import decoder
from dsbd.law.beams import Node
from dsbd.session import Session
from tests.toy_pair import VOCABULARY, toy_pair, toy_pair_on

PROMPT = "Once upon"
CASES = [
    {},
    {"seed": 2, "replacement": False, "cover_width": 4},
    {"forest": "likely", "draft_width": 9, "seed": 3},
    {"method": "beam_search"},
    {"input_beams": 1, "min_width": 4, "seed": 5},
]


def settings(**changes) -> dsbd.DecodingSettings:
    return dsbd.DecodingSettings(**{"max_new_tokens": 24, "draft_depth": 3, "draft_width": 4} | changes)


@pytest.fixture
def sessions(monkeypatch) -> list[Session]:
    """Return every session that a decode of this test makes."""
    made: list[Session] = []

    class Noted(Session):
        def __init__(self, start, target_row, drafter, clock) -> None:
            super().__init__(start, target_row, drafter, clock)
            self.rows = [target_row] if drafter is None else [target_row, drafter.row]
            made.append(self)

    monkeypatch.setattr(decoder, "Session", Noted)
    return made


class Iterations(dsbd.Observer):
    def __init__(self) -> None:
        self.seen = []

    def on_iteration(self, iteration) -> None:
        self.seen.append(iteration)


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_the_result_descends_from_the_candidates_of_every_update(changes):
    """Catches a candidate that is dropped though it can still win, and candidates that are not ranked."""
    updates = list(dsbd.stream(toy_pair(), PROMPT, settings(**changes)))
    ids = updates[-1].result.token_ids
    for update in updates:
        scores = [candidate.score for candidate in update.candidates]
        assert scores == sorted(scores, reverse=True)
        paths = [(candidate.node.token_ids(), candidate.finished) for candidate in update.candidates]
        assert any(path == ids if finished else path == ids[: len(path)] for path, finished in paths)
        assert sum(finished for _, finished in paths) <= 1
        assert update.text == toy_pair().decode(paths[0][0])


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
def test_hypotheses_are_ranked_by_score(penalty):
    """Catches the likeliest text in place of the best one, and texts that are rated by another length penalty."""
    pair, watch = replace(toy_pair(), eos=frozenset(range(0, VOCABULARY, 5))), Iterations()
    asked = settings(length_penalty=penalty, min_width=4, max_width=4)
    for update in dsbd.stream(pair, PROMPT, asked, observers=[watch]):
        layers = [layer for iteration in watch.seen for layer in iteration.layers]
        ended = [beam for layer in layers for beam in layer.beams if beam.node.token in pair.eos]
        scores = [beam.log_weight / beam.node.length**penalty for beam in ended]
        assert [one.score for one in update.candidates if one.finished] == [max(scores)] * bool(scores)
        shown = [one.log_weight / one.node.length**penalty for one in update.candidates]
        assert [one.score for one in update.candidates] == shown == sorted(shown, reverse=True)
    beams = update.result.beams
    assert [beam.score for beam in beams] == sorted((beam.score for beam in beams), reverse=True)
    assert sorted(beam.score for beam in beams if beam.finished) == sorted(scores)


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_the_room_made_at_the_start_is_enough(changes, sessions):
    """Catches buffers that grow in the middle of an ordinary decode: the old and the new exist together."""
    result = dsbd.decode(toy_pair(), PROMPT, settings(**changes))
    (session,) = sessions
    assert len(session.rows) == (1 if changes.get("method") else 2)
    assert result.stats.kv_peak_bytes == sum(row.cache.capacity * row.cache.slot_bytes for row in session.rows)
    assert result.stats.kv_peak_slots <= session.rows[0].cache.capacity


def above(nodes) -> set[Node]:
    """Return every node that the given ones stand on, the root included."""
    found = set()
    for node in nodes:
        while (node := node.parent) is not None:
            found.add(node)
    return found


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_each_row_keeps_what_it_was_fed_and_the_beams_stand_on(changes, sessions):
    """Catches slots of the draft model that are never freed, or pass for nodes it was not fed; no result shows them."""

    class Slots(dsbd.Observer):
        def on_start(self, start) -> None:
            self.fed, self.bonus = {start.root}, 0

        def on_iteration(self, iteration) -> None:
            (session,) = sessions
            inputs, outputs = (
                [beam.node for beam in beams] for beams in (iteration.input_beams, iteration.output_beams)
            )
            if iteration.scored.forest.layers:
                self.fed |= above(inputs) | set(inputs)
            for layer in iteration.scored.forest.layers[:-1]:
                self.fed |= set(layer.covers if changes.get("forest") else layer.drafts)
            self.bonus += iteration.layers[-1].outcome == "bonus"
            if len(session.rows) == 2 and outputs:
                target_row, draft_row = session.rows
                assert target_row.slots == len(PROMPT) - 1 + len(above(outputs))
                assert draft_row.slots == len(PROMPT) - 1 + len(above(outputs) & self.fed)

    equal = replace(toy_pair(), draft=toy_pair().target)  # every draft is accepted, so the last layer is stood on
    for pair in (toy_pair(), equal):
        sessions.clear()
        watch = Slots()
        dsbd.decode(pair, PROMPT, settings(**changes), observers=[watch])
    assert watch.bonus


def test_only_the_best_input_beams_are_kept():
    """Catches a decode that keeps the newest or the first beams instead of the best."""
    watch = Iterations()
    dsbd.decode(toy_pair(), PROMPT, settings(input_beams=2, min_width=5, draft_width=6, seed=1), observers=[watch])
    kept = [iteration.output_beams for iteration in watch.seen[:-1]]
    assert max(len(beams) for beams in kept) == 2
    for iteration, beams in zip(watch.seen, kept, strict=False):
        weights = sorted((beam.log_weight for beam in iteration.layers[-1].living), reverse=True)
        assert sorted((beam.log_weight for beam in beams), reverse=True) == weights[:2]


def test_a_decode_ends_with_its_last_beam(sessions):
    """Catches an iteration that starts from no beam. Nearly every token ends a beam here."""
    pair = replace(toy_pair(), eos=frozenset(range(2, VOCABULARY)))
    *_, last = dsbd.stream(pair, PROMPT, settings())
    (session,) = sessions
    assert session.done
    assert (session.room > 0, session.beams) == (True, [])
    assert all(beam.finished for beam in last.result.beams)


def test_equal_scores_keep_the_order_in_which_they_came():
    """Catches beams that are alive before finished ones of the same score. Every token is equally likely here."""
    pair = replace(toy_pair_on("eager"), eos=frozenset(range(0, VOCABULARY, 2)))
    with torch.no_grad():
        pair.target.model.lm_head.weight.zero_()
    *_, last = dsbd.stream(pair, PROMPT, settings(method="beam_search", num_beams=8, max_new_tokens=1))
    beams = last.result.beams
    assert len({beam.score for beam in beams}) == 1
    assert [beam.token_ids[0] for beam in beams] == [0, 2, 4, 6, 1, 3, 5, 7]
    assert [candidate.node.token for candidate in last.candidates] == [0, 1, 3, 5, 7]
