"""What ``generate`` of transformers asks, as settings, stops and prompts; no model runs."""

import pytest
import torch
from transformers import (
    GenerationConfig,
    MaxLengthCriteria,
    MaxTimeCriteria,
    NoRepeatNGramLogitsProcessor,
    PrefixConstrainedLogitsProcessor,
    TemperatureLogitsWarper,
)

from dsbd import generation_request as request
from dsbd.errors import SettingsError

MASK = torch.ones(1, 2)


@pytest.mark.parametrize("name", sorted(vars(GenerationConfig()).keys() - request.HONOURED - request.HARMLESS))
def test_a_field_is_refused_unless_it_asks_for_nothing(name):
    """Catches a field that is dropped in silence, and a value of nothing that is refused."""
    config, nothing = GenerationConfig(), request.NOTHING.get(name)
    for value in (None, nothing):
        setattr(config, name, value)
        request.refuse_unknown(config, {"attention_mask": MASK, "use_cache": True, "other": None, "images": {}})
    setattr(config, name, 3)
    with pytest.raises(SettingsError, match=f"{name} is 3; dsbd.generate cannot honour it"):
        request.refuse_unknown(config, {})


def test_an_unknown_input_is_refused():
    for given in (MASK, {"image": MASK}):
        with pytest.raises(SettingsError, match="inputs_embeds is given"):
            request.refuse_unknown(GenerationConfig(), {"inputs_embeds": given})


def settings_of(draft=True, draft_depth=3, draft_width=None, **asked):
    return request.requested_settings(GenerationConfig(**asked), "draft" if draft else None, draft_depth, draft_width)


@pytest.mark.parametrize(
    ("draft", "beams", "samples", "method"),
    [
        (True, 3, True, "dsbd"),
        (True, 3, False, "speculative_beam_search"),
        (True, 1, True, "speculative"),
        (True, 1, False, "speculative"),
        (False, 3, True, "beam_sampling"),
        (False, 3, False, "beam_search"),
        (False, 1, True, "sampling"),
        (False, 1, False, "greedy"),
    ],
)
def test_the_method_has_the_law_of_what_was_asked(draft, beams, samples, method):
    """Catches a method of another law, a width that is not the number of beams, and beams that repeat each other."""
    found = settings_of(draft, num_beams=beams, do_sample=samples, temperature=0.7, top_k=9, top_p=0.8)
    assert (found.method, found.num_beams) == (method, beams)
    assert (found.temperature, found.top_k, found.top_p) == ((0.7, 9, 0.8) if samples else (0.0, 0, 1.0))
    assert found.draft_width == (5 if beams == 3 else 1)
    if beams > 1:
        assert (found.min_width, found.max_width, found.replacement) == (3, 3, False)


def test_what_is_left_out_asks_for_nothing():
    """Catches a temperature of 0, a penalty of 0, or a forest of no layer where nothing was said."""
    config = GenerationConfig(do_sample=True)
    for name in ("temperature", "top_k", "top_p", "length_penalty", "num_beams"):
        setattr(config, name, None)
    found = request.requested_settings(config, "draft", 4, 7)
    assert (found.temperature, found.top_k, found.top_p, found.length_penalty) == (1.0, 0, 1.0, 1.0)
    assert (found.num_beams, found.draft_depth, found.draft_width) == (1, 4, 7)
    assert settings_of(num_beams=2, length_penalty=0.0).length_penalty == 0.0
    found = [request.eos_ids(GenerationConfig(eos_token_id=named)) for named in (None, 0, [3, 5])]
    assert found == [frozenset(), {0}, {3, 5}]


def test_room_is_what_is_left_of_the_length():
    """Catches a prompt that does not count, and a length that is all prompt."""
    room_for, config = request.room_for, GenerationConfig()
    assert room_for(GenerationConfig(max_new_tokens=4), [MaxLengthCriteria(9)], 7) == 4
    assert room_for(config, [MaxLengthCriteria(12), MaxLengthCriteria(9)], 7) == 2
    assert room_for(GenerationConfig(max_length=8), [], 7) == 1
    with pytest.raises(SettingsError, match="max_length is 7 and the prompt has 7 tokens"):
        room_for(config, [MaxLengthCriteria(7)], 7)


def test_each_prompt_is_read_once_without_its_padding():
    """Catches copies that are decoded again, padding that is read, and ids that are taken for padding."""
    ids = torch.tensor([[0, 0, 5, 6]] * 2 + [[1, 2, 3, 0]] * 2)
    mask = torch.tensor([[0, 0, 1, 1]] * 2 + [[1, 1, 1, 1]] * 2)
    positions = torch.tensor([[0, 0, 0, 1]] * 2 + [[0, 1, 2, 3]] * 2)
    found = [(row.tolist(), padding) for row, padding in request.prompts_of(ids, mask, positions, 2)]
    assert found == [([0, 0, 5, 6], 2), ([1, 2, 3, 0], 0)]
    found = request.prompts_of(ids[::2], None, positions[2:3], 1)
    assert [(row.tolist(), padding) for row, padding in found] == [([0, 0, 5, 6], 0), ([1, 2, 3, 0], 0)]


@pytest.mark.parametrize("mask", [[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 2, 1], [1, 1, 1]], ids=str)
def test_a_mask_that_hides_more_than_padding_in_front_is_refused(mask):
    """Catches ids that move in the prompt, those that are dropped behind it, and positions of the caller's own."""
    with pytest.raises(SettingsError, match="attention_mask"):
        request.prompts_of(torch.tensor([[4, 5, 6, 7]]), torch.tensor([mask]), None, 1)
    for positions in ([[0, 1, 3, 4]], [[1, 2, 3, 4]], [[0, 1]]):
        with pytest.raises(SettingsError, match="leave position_ids out"):
            request.prompts_of(torch.tensor([[4, 5, 6, 7]]), None, torch.tensor(positions), 1)


def test_a_criterion_sees_the_whole_sequence():
    """Catches a criterion that sees only new tokens, or another shape, that waits for others, or sees several beams."""

    def criterion(ids, scores):
        return (ids == torch.tensor([[8, 7]])).all(dim=1)

    def never(ids, scores):
        return torch.zeros(len(ids), dtype=torch.bool)

    limits = [MaxTimeCriteria(9.0, initial_timestamp=100.0), MaxTimeCriteria(5.0, initial_timestamp=101.0)]
    stops = request.requested_stops([never, criterion, MaxLengthCriteria(3), *limits], 1)
    assert stops.deadline == 106.0
    assert [stops.end(torch.tensor(ids)) for ids in ([8, 7], [8, 8])] == [True, False]
    with pytest.raises(SettingsError, match=r"function is given with 2 beams.*set num_beams=1"):
        request.requested_stops([criterion], 2)


def test_processors_see_the_padding_in_front():
    """Catches padding behind the ids, and a constraint that is asked about a beam, or the first prompt, for its own."""
    ids, scores, seen = torch.tensor([[5, 6], [5, 7]]), torch.zeros(2, 9), []

    def note(given, scores):
        seen.append(given.tolist())
        return scores

    padding = torch.tensor([0, 0])
    (one,) = request.processors_of([note], padding, 0)
    one(ids, scores)
    assert seen == [[[0, 0, 5, 6], [0, 0, 5, 7]]]
    constraint = PrefixConstrainedLogitsProcessor(lambda batch, ids: [batch, int(ids[-1])], 2)
    ngram = NoRepeatNGramLogitsProcessor(2)
    found, kept = request.processors_of([TemperatureLogitsWarper(0.5), constraint, ngram], padding[:0], 3)
    assert kept is ngram
    assert [row.isfinite().nonzero().flatten().tolist() for row in found(ids, scores)] == [[1, 6], [1, 7]]
