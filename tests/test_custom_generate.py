"""``generate`` of transformers with the decoders of this package: what is mapped, and what is refused by name."""

from copy import deepcopy
from functools import partial
from importlib import metadata

import pytest
import torch
from transformers import (
    GenerationConfig,
    MaxLengthCriteria,
    MaxTimeCriteria,
    StopStringCriteria,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    dynamic_module_utils,
    set_seed,
)
from transformers.generation import BaseStreamer

import dsbd
from benchmarks.families import PROMPT, tiny_model
from dsbd import generate_request as request
from dsbd.errors import SettingsError
from dsbd.methods import resolve
from tests.command_line import run
from tests.toy_pair import EOS, VOCABULARY, toy_model, toy_pair, toy_tokenizer

IDS = torch.tensor([[10, 20, 30], [0, 40, 50]])
MASK = torch.tensor([[1, 1, 1], [0, 1, 1]])
RECORDED = {"record": toy_tokenizer(), "return_dict_in_generate": True}


def generated(*, ours=True, draft=True, ids=IDS, mask=MASK, **asked):
    pair = toy_pair()
    named = {"custom_generate": dsbd.generate, "draft_model": pair.draft.model if draft else None} if ours else {}
    asked = {"max_new_tokens": 8, "pad_token_id": 0} | named | asked
    return pair.target.model.generate(ids, attention_mask=mask, **asked)


@pytest.mark.parametrize("draft", [True, False])
@pytest.mark.parametrize(
    "asked",
    [{}, {"no_repeat_ngram_size": 1}, {"bad_words_ids": [[193], [36, 174]]}, {"min_new_tokens": 6},
     {"prefix_allowed_tokens_fn": lambda batch, ids: [[1, 2, 3], [7, 8, 9]][batch]}, {"forced_eos_token_id": EOS},
     {"repetition_penalty": 3.0}],
    ids=lambda asked: "".join(asked) or "plain",
)  # fmt: skip
def test_greedy_ids_are_those_of_transformers(asked, draft):
    """Catches a processor that is dropped or sees another prompt, decoded padding, an EOS that is missed, and torch's
    global generator moved where nothing is random."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert generated(do_sample=False, draft=draft, **asked).tolist() == generated(ours=False, **asked).tolist()
    assert torch.equal(torch.get_rng_state(), before)


class Colder(TemperatureLogitsWarper):
    pass


@pytest.mark.parametrize("asked", [{}, {"temperature": 3.0, "top_k": 0}, {"num_beams": 2, "top_p": 0.9}], ids=str)
@pytest.mark.parametrize(
    "own", [TemperatureLogitsWarper(1e-6), Colder(1e-6), TopKLogitsWarper(1), TopPLogitsWarper(1e-9)]
)
def test_a_warper_of_the_caller_is_kept(own, asked):
    """Catches one that is taken for the config's. Where one token is left, every distribution writes the greedy
    text.
    """
    rows = generated(do_sample=True, logits_processor=[own], **asked)
    assert rows.tolist() == generated(ours=False, do_sample=False).tolist()


def test_several_texts_of_a_prompt():
    """Catches hypotheses in another order, texts that repeat each other, and rows of another prompt."""
    set_seed(1)
    rows = generated(num_return_sequences=3, do_sample=True, top_k=0)
    assert rows[:, :3].tolist() == IDS.repeat_interleave(3, dim=0).tolist()
    assert len({tuple(row) for row in rows.tolist()}) == 6
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


class Counting:
    """Allows other tokens at each call."""

    calls = 0

    def __call__(self, ids, logits):
        self.calls += 1
        return logits.masked_fill(torch.arange(VOCABULARY) % 9 != self.calls % 9, -torch.inf)


def test_a_processor_with_a_state_is_refused_where_it_is_asked_out_of_turn():
    """Catches other ids than those of transformers, in silence."""
    one = {"ids": IDS[:1], "mask": None, "do_sample": False}
    expected = generated(ours=False, logits_processor=[Counting()], **one).tolist()
    assert generated(draft=False, logits_processor=[Counting()], **one).tolist() == expected
    for asked in ({}, {"draft_depth": 1}, {"draft": False, "num_beams": 2}, {"draft": False, "ids": IDS}):
        with pytest.raises(SettingsError, match=r"Counting answers the same ids in two ways.*draft_model=None"):
            generated(logits_processor=[Counting()], **one | asked)


def test_a_model_with_other_inputs_than_ids_is_refused():
    """Catches virtual tokens of prompt tuning that are left out in silence."""
    model = toy_model(1, 1)
    model.prepare_inputs_for_generation = lambda *given, **named: None
    with pytest.raises(SettingsError, match="prepare_inputs_for_generation of this LlamaForCausalLM was replaced"):
        dsbd.generate(model, IDS, generation_config=model.generation_config, draft_model=None)


def test_a_draft_with_fewer_ids_is_refused():
    """Catches a target whose last ids can never come."""
    small = deepcopy(toy_pair().draft.model)
    small.resize_token_embeddings(VOCABULARY - 3, mean_resizing=False)
    for given in ({}, {"vocabulary_size": VOCABULARY - 2}):
        with pytest.raises(dsbd.PairError, match=f"{VOCABULARY - 3} ids.*vocabulary_size"):
            generated(draft_model=small, **given)
    assert generated(draft_model=small, vocabulary_size=VOCABULARY - 3, max_new_tokens=2).shape == (2, 5)


def test_a_constraint_sees_the_number_that_generate_gives():
    """Catches the number of another prompt where a prompt has several rows."""

    def seen(**asked):
        numbers = set()
        generated(prefix_allowed_tokens_fn=lambda batch, ids: numbers.add((batch, int(ids[2]))) or [1, 2, 3], **asked)
        return numbers

    for asked in ({"num_return_sequences": 2, "do_sample": True}, {"num_beams": 2}):
        assert seen(**asked) == seen(ours=False, **asked)


def test_a_criterion_ends_one_sequence_at_its_first_place():
    """Catches tokens after the place, which a pass of several tokens makes."""
    alone = {"do_sample": False, "ids": IDS[1:, 1:], "mask": None}
    whole = generated(**alone)[0, 2:].tolist()
    there = [lambda ids, scores, **_: ids[:, -1] == whole[3], lambda ids, scores, **_: ids[:, -1] < 0]
    cut = generated(stopping_criteria=there, **alone)[0, 2:].tolist()
    assert cut == whole[: whole.index(whole[3]) + 1]
    for times in ([1e-9], [1e9, 1e-9]):
        assert generated(do_sample=False, stopping_criteria=[*map(MaxTimeCriteria, times)]).shape[1] < 3 + 8


@pytest.mark.parametrize("asked", [{}, {"width_threshold": 0.3}, {"cover_width": 2}], ids=str)
def test_settings_and_a_trace_pass_through(asked):
    """Catches settings that are dropped, a width that stays fixed, and a trace that is lost or does not follow."""
    found = generated(do_sample=True, num_beams=4, seed=5, **RECORDED, **asked)
    assert [trace.seed for trace in found.trace] == [5, 6]
    for trace, row in zip(found.trace, found.sequences.tolist(), strict=True):
        assert dsbd.verify_trace(trace).failure is None
        assert row[3 : 3 + len(trace.result.token_ids)] == trace.result.token_ids
        assert {name: getattr(trace.settings, name) for name in asked} == asked
        assert (trace.settings.min_width, trace.settings.max_width) == (1 if "width_threshold" in asked else 4, 4)
        again = dsbd.decode(toy_pair(), [one.token_id for one in trace.prompt.pieces], trace.settings)
        assert again.token_ids == trace.result.token_ids


def test_a_folder_for_the_hub_decodes(tmp_path, capsys, monkeypatch):
    """Catches a folder that transformers does not load, and arguments that it loses. Here the user trusts its code."""
    monkeypatch.setattr(metadata, "version", lambda name, own=metadata.version: "1" if name == "dsbd" else own(name))
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    assert run(capsys, "custom-generate", str(tmp_path / "hub"))[0] == 0
    asked = RECORDED | {"do_sample": False, "num_beams": 2, "draft_depth": 2}
    asked |= {"ids": IDS[1:, 1:], "mask": None}
    hub = {"custom_generate": str(tmp_path / "hub"), "trust_remote_code": 1}
    found = generated(**hub, **asked)
    assert found.sequences.tolist() == generated(**asked).sequences.tolist()
    assert found.trace.settings.draft_depth == 2
    with pytest.raises(ValueError, match="trust_remote_code"):
        generated(**hub | {"trust_remote_code": 0}, **asked)


@pytest.mark.parametrize("draft", [True, False])
def test_a_text_ends_each_sequence(draft):
    """Catches ids behind the text, and a criterion that does not see the prompt."""
    tokenizer, asked = toy_tokenizer(), {"do_sample": False, "max_new_tokens": 12}
    whole = generated(**asked)[1]
    texts = [tokenizer.decode(whole[start:end]) for start, end in ((4, 5), (4, 6), (7, 8), (2, 4))]
    for ends in [texts[:1], texts[1:2], texts[2:3], texts[3:], texts[1:], ["no such text"]]:
        asked |= {"stopping_criteria": [StopStringCriteria(tokenizer, ends)]}
        assert generated(draft=draft, **asked).tolist() == generated(ours=False, **asked).tolist()


class Heard(BaseStreamer):
    """Keeps what it is given, and that it ended."""

    def __init__(self):
        self.given = []

    def put(self, value):
        self.given.append(value.tolist())

    def end(self):
        self.given.append("end")


@pytest.mark.parametrize(
    "asked",
    [{"do_sample": True}, {"stopping_criteria": [StopStringCriteria(toy_tokenizer(), ["\x19"])]}],
    ids=["all", "part"],
)
@pytest.mark.parametrize("draft", [True, False])
def test_a_streamer_is_given_what_is_returned(draft, asked):
    """Catches a reader that waits for ever, tokens behind the end, and a function bound to some arguments."""
    asked = {"ids": IDS[1:, 1:], "mask": None, "do_sample": False} | asked
    heard = Heard()
    bound = partial(dsbd.generate, vocabulary_size=VOCABULARY, streamer=heard)
    returned = generated(draft=draft, custom_generate=bound, **asked)[0].tolist()
    prompt, *put, end = heard.given
    assert (prompt, [token for ids in put for token in ids], end) == ([returned[:2]], returned[2:], "end")


@pytest.mark.parametrize("name", ["fuyu", "mamba", "xmod"])
def test_what_generate_prepares_for_a_family_is_taken(name):
    """Catches a cache by another name, an empty list of images, a mask for each head, a trace of one size only."""
    model = tiny_model(name)
    asked = {"do_sample": False, "max_new_tokens": 7, "attention_mask": torch.ones(1, len(PROMPT), dtype=torch.int64)}
    ours = model.generate(torch.tensor([PROMPT]), custom_generate=dsbd.generate, draft_model=None, **asked)
    assert ours.tolist() == model.generate(torch.tensor([PROMPT]), **asked).tolist()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"do_sample": True, "min_p": 0.1}, "MinPLogitsWarper"),
        ({"do_sample": True, "num_beams": 3, "num_return_sequences": 3, "top_k": 1}, "1 texts of a prompt are left"),
        ({"draft_model": ...}, "draft_model is not given"),
        ({"width_threshold": 0.5}, "method speculative does not read it"),
        ({"widht_threshold": 0.5}, r"not used by the model: \['widht_threshold'\]"),
        ({"num_beams": 2, "do_sample": True, "width_threshold": 3}, "width_threshold is 3; allowed are"),
        ({"record": toy_tokenizer()}, "record is given, and the trace comes with"),
        ({**RECORDED, "record": True}, "give record=tokenizer"),
        ({**RECORDED, "max_time": 9}, "leave them out"),
        ({"num_beams": 2, "stopping_criteria": [StopStringCriteria(toy_tokenizer(), ["a"])]}, "StopStri.*num_beams=1"),
        ({"custom_generate": partial(dsbd.generate, streamer=Heard())}, "streamer is given with 2 sequences"),
        ({"max_new_tokens": 500}, "exceeds the context"),
        ({"ids": IDS + 250}, "id 0 of the prompt is 260; allowed are 0 to 259"),
        ({"ids": IDS - 11}, "id 0 of the prompt is -1; allowed are"),
        ({"vocabulary_size": 50}, "id 1 of the prompt is 50; allowed are 0 to 49"),
        ({"stopping_criteria": [lambda ids, scores, **_: ids[:, -1] == 7], "num_beams": 2}, "function is given"),
    ],
    ids=lambda value: value if isinstance(value, str) else "asked",
)
def test_what_cannot_be_honoured_is_refused_by_name(asked, name):
    with pytest.raises((dsbd.DsbdError, ValueError), match=name):
        generated(**asked)


@pytest.mark.parametrize("given", [("model", IDS), (toy_pair(), "Once"), ("model",)], ids=["ids", "pair", "model"])
def test_by_hand_it_says_how_to_call_it(given):
    with pytest.raises(SettingsError, match=r"model.generate\(input_ids, custom_generate=dsbd.generate.*dsbd.decode"):
        dsbd.generate(*given)


ONES = torch.ones(1, 2)


@pytest.mark.parametrize("name", sorted(vars(GenerationConfig()).keys() - request.HONOURED - request.HARMLESS))
def test_a_field_is_refused_unless_it_asks_for_nothing(name):
    """Catches a field that is dropped in silence, and a value of nothing that is refused."""
    config, nothing = GenerationConfig(), request.NOTHING.get(name)
    for value in (None, nothing):
        setattr(config, name, value)
        request.refuse_unknown(config, {"attention_mask": ONES, "use_cache": True, "other": None, "images": {}})
    setattr(config, name, 3)
    with pytest.raises(SettingsError, match=f"{name} is 3; dsbd.generate cannot honour it"):
        request.refuse_unknown(config, {})


FOUR = torch.tensor([[4, 5, 6, 7]])


@pytest.mark.parametrize(
    ("said", "check", "given"),
    [
        ("inputs_embeds is given", request.refuse_unknown, (GenerationConfig(), {"inputs_embeds": ONES})),
        ("max_length is 7 and the", request.room_for, (GenerationConfig(), [MaxLengthCriteria(7)], 7)),
        *[("attention_mask", request.prompts_of, (FOUR, torch.tensor([mask]), None, 1))
          for mask in ([1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 2, 1], [1, 1, 1])],
        *[("leave position_ids out", request.prompts_of, (FOUR, None, torch.tensor(positions), 1))
          for positions in ([[0, 1, 3, 4]], [[1, 2, 3, 4]], [[0, 1]])],
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_transformers_may_let_through_is_refused_too(said, check, given):
    """Catches ids that move in the prompt, those that are dropped behind it, and positions of the caller's own."""
    with pytest.raises(SettingsError, match=said):
        check(*given)


def settings_of(draft=True, **asked):
    own = {"draft_depth": 3} if draft else {}
    return request.requested_settings(GenerationConfig(**asked), "draft" if draft else None, own)


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
def test_the_method_has_the_distribution_of_what_was_asked(draft, beams, samples, method):
    """Catches a method of another distribution, a width that is not the number of beams, and beams that repeat each
    other.
    """
    found = settings_of(draft, num_beams=beams, do_sample=samples, temperature=0.7, top_k=9, top_p=0.8)
    assert found.method == method
    plan = resolve(found)
    warp = (0.7, 9, 0.8) if samples else (0.0, 1 if method == "greedy" else 0, 1.0)
    assert (plan.temperature, plan.top_k, plan.top_p) == warp
    assert (plan.min_width, plan.max_width) == (beams, beams)
    assert plan.draft_depth == (3 if draft else 0)
    assert not draft or plan.draft_width == (5 if beams == 3 else 1)
    assert beams == 1 or not plan.replacement


def test_what_is_left_out_asks_for_nothing():
    """Catches a temperature of 0, a penalty of 0, or a forest of no layer where nothing was said."""
    config = GenerationConfig(do_sample=True)
    for name in ("temperature", "top_k", "top_p", "length_penalty", "num_beams"):
        setattr(config, name, None)
    found = request.requested_settings(config, "draft", {})
    assert (found.temperature, found.top_k, found.top_p, found.length_penalty) == (1.0, 0, 1.0, 1.0)
    assert (found.method, found.draft_depth) == ("speculative", 4)
    assert settings_of(num_beams=2, length_penalty=0.0).length_penalty == 0.0
    rules = [settings_of(num_beams=2, early_stopping=rule).early_stopping for rule in (None, False, True, "never")]
    assert rules == [False, False, True, "never"]
    found = [request.eos_ids(GenerationConfig(eos_token_id=named)) for named in (None, 0, [3, 5])]
    assert found == [frozenset(), {0}, {3, 5}]


@pytest.mark.parametrize("draft", [True, False])
def test_what_is_expected_changes_nothing_but_the_passes(draft):
    """Catches a guess or a history that generate drops, or that takes part in the text."""
    asked = {"draft": draft, "do_sample": False, "ids": IDS[:1], "mask": MASK[:1]}
    history = dsbd.History()
    plain = generated(ours=False, do_sample=False, ids=IDS[:1], mask=MASK[:1])
    rows = [generated(**asked, **known) for known in ({"guess": plain[0, 3:]}, {"history": history})]
    again = generated(**asked, **RECORDED, history=history)
    assert all(row.tolist() == plain.tolist() for row in (*rows, again.sequences))
    assert again.trace.history == len(history) / 2 == plain.shape[1] - 3
    assert again.trace.result.stats["iterations"] < plain.shape[1] - 3
    with pytest.raises(SettingsError, match="guess is 'a'; give ids"):
        generated(**asked, guess="a")
