"""``generate`` of transformers with the decoders of this package: what is mapped, and what is refused by name."""

import gc
import weakref

import pytest
import torch
from transformers import StoppingCriteria, set_seed

import dsbd
from dsbd import custom_generate
from tests.toy_pair import EOS, toy_model, toy_pair

IDS = torch.tensor([[10, 20, 30], [0, 40, 50]])
MASK = torch.tensor([[1, 1, 1], [0, 1, 1]])


def generated(*, ours=True, draft=True, ids=IDS, mask=MASK, **asked):
    pair = toy_pair()
    named = {"custom_generate": dsbd.generate, "draft_model": pair.draft.model if draft else None} if ours else {}
    asked = {"max_new_tokens": 8, "pad_token_id": 0} | asked
    return pair.target.model.generate(ids, attention_mask=mask, **asked, **named)


@pytest.mark.parametrize("draft", [True, False])
@pytest.mark.parametrize(
    "asked",
    [{}, {"no_repeat_ngram_size": 1}, {"bad_words_ids": [[193], [36, 174]]}, {"min_new_tokens": 6},
     {"prefix_allowed_tokens_fn": lambda batch, ids: [1, 2, 3]}, {"forced_eos_token_id": EOS}],
    ids=lambda asked: "".join(asked) or "plain",
)  # fmt: skip
def test_greedy_ids_are_those_of_transformers(asked, draft):
    """Catches a processor that is dropped, padding that is decoded, and an EOS that is not heeded."""
    assert generated(do_sample=False, draft=draft, **asked).tolist() == generated(ours=False, **asked).tolist()


def test_beams_of_one_prompt():
    """Catches hypotheses in another order, and beams that repeat each other where several are returned."""
    asked = {"num_beams": 3, "num_return_sequences": 3, "do_sample": True, "return_dict_in_generate": True}
    set_seed(4)
    first = generated(ids=IDS[:1], mask=None, **asked)
    assert first.sequences.shape[0] == 3
    assert len({tuple(row) for row in first.sequences.tolist()}) == 3
    assert first.sequences_scores.tolist() == sorted(first.sequences_scores.tolist(), reverse=True)
    set_seed(4)
    assert generated(ids=IDS[:1], mask=None, **asked).sequences.tolist() == first.sequences.tolist()
    searched = {"num_beams": 3, "do_sample": False, "ids": IDS[1:, 1:], "mask": None}
    assert generated(**searched).tolist() == generated(draft=False, **searched).tolist()


def test_the_settings_reach_the_law():
    """Catches a temperature or top-k that is left out: both make greedy decoding here."""
    greedy = generated(do_sample=False).tolist()
    assert generated(do_sample=True, top_k=1).tolist() == greedy
    assert generated(do_sample=True, temperature=1e-6).tolist() == greedy


def test_a_pair_is_made_once_and_freed_with_its_target(monkeypatch):
    """Catches a check of the models at every call, and a list of pairs that keeps every target in memory."""
    made = []
    monkeypatch.setattr(custom_generate, "make_pair", lambda *given: made.append(1) or dsbd.make_pair(*given))
    model, draft = toy_model(1, 2), toy_model(2, 1)
    for _ in range(2):
        model.generate(IDS[:1], custom_generate=dsbd.generate, draft_model=draft, max_new_tokens=2, pad_token_id=0)
    assert len(made) == 1
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


class EndsWith(StoppingCriteria):
    def __init__(self, token):
        self.token = token

    def __call__(self, input_ids, scores, **_):
        return input_ids[:, -1] == self.token


def test_a_criterion_ends_one_sequence_at_its_first_place():
    """Catches tokens after the place, which a pass of several tokens makes."""
    whole = generated(do_sample=False, ids=IDS[1:, 1:], mask=None)[0, 2:].tolist()
    cut = generated(do_sample=False, ids=IDS[1:, 1:], mask=None, stopping_criteria=[EndsWith(whole[3])])[0, 2:].tolist()
    assert cut == whole[: whole.index(whole[3]) + 1]
    assert generated(do_sample=False, max_time=1e-9).shape[1] < 3 + 8


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"do_sample": True, "min_p": 0.1}, "MinPLogitsWarper"),
        ({"do_sample": True, "typical_p": 0.5}, "TypicalLogitsWarper"),
        ({"output_scores": True, "return_dict_in_generate": True}, "output_scores"),
        ({"do_sample": True, "num_return_sequences": 2}, "num_return_sequences is 2"),
        ({"num_beams": 2, "stopping_criteria": [EndsWith(5)]}, "EndsWith"),
        ({"do_sample": True, "draft_depth": -1}, "draft_depth"),
        ({"max_new_tokens": 500}, "exceeds the context"),
    ],
    ids=lambda value: value if isinstance(value, str) else "asked",
)
def test_what_cannot_be_honoured_is_refused_by_name(asked, name):
    with pytest.raises(dsbd.DsbdError, match=name):
        generated(**asked)
