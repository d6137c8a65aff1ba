"""The decoder from the outside: limits, streams, ends, what is kept between iterations, and what is refused."""

import doctest
import math
import pickle
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from tokenizers import processors

import dsbd
from dsbd import decoder, results, util
from dsbd import settings as settings_module
from dsbd.bench import sql
from dsbd.bench.measure import log_likelihood
from dsbd.commands import verify_trace
from dsbd.errors import ModelError, PairError, PromptError, SettingsError, StoppedError
from dsbd.methods import resolve
from dsbd.models.making import make_pair
from dsbd.models.states import forest
from dsbd.session import RunStart, Session
from dsbd.util import cut
from dsbd.verification.beams import Hypothesis, Node
from tests.toy_pair import EOS, VOCABULARY, Iterations, llama_2_tokenizer, toy_pair, toy_pair_on

PROMPT = "Once upon"
CASES = [
    {},
    {"seed": 2, "replacement": False, "cover_width": 4},
    {"forest": "coupled", "min_width": 4, "draft_width": 9, "seed": 3},
    {"method": "beam_search"},
    {"input_beams": 1, "min_width": 4, "seed": 5},
]


def settings(**changes) -> dsbd.DecodingSettings:
    forest_of = {"draft_depth": 3, "draft_width": 4} if changes.get("method", "dsbd") == "dsbd" else {}
    return dsbd.DecodingSettings(**{"max_new_tokens": 24} | forest_of | changes)


@pytest.mark.parametrize("method", dsbd.METHODS)
@pytest.mark.parametrize("new_tokens", [1, 2, 16])
def test_every_method_keeps_its_limit_weighs_truly_and_says_the_same_again(method, new_tokens):
    """Catches a last forest that exceeds the limit, a decode that stops below it with beams alive, a second target
    forward in an iteration; a log-weight that is not the sum of the target's raw log-probabilities; randomness from the
    global state, sets whose order enters the result, and a recording that changes it."""
    pair, chosen = toy_pair(), dsbd.DecodingSettings(method=method, seed=5, max_new_tokens=new_tokens)
    torch.manual_seed(1)
    result = dsbd.decode(pair, PROMPT, chosen)
    for beam in result.beams:
        ids = beam.token_ids
        assert len(ids) == new_tokens or (beam.finished and len(ids) < new_tokens)
        assert (beam.finished, EOS in ids[:-1]) == (ids[-1] == EOS, False)
        again = log_likelihood(pair.target, pair.encode(PROMPT), ids)
        assert beam.log_weight == pytest.approx(again, abs=1e-6)  # norms compute in float32
        assert beam.score == pytest.approx(beam.log_weight / len(ids))
    assert result.stats.layers <= new_tokens
    assert result.stats.new_tokens == len(result.token_ids)
    assert result.stats.target_calls == result.stats.iterations + 1  # and the prompt's
    torch.manual_seed(2)
    again = dsbd.decode(pair, PROMPT, chosen, record=True)
    assert torch.initial_seed() == 2
    assert (again.beams, again.trace.result.token_ids) == (result.beams, result.token_ids)
    assert result.trace is None


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_a_stream_says_what_is_best_and_how_much_of_it_is_settled(changes):
    """Catches settled text that shrinks, or that the result does not begin with; a candidate that is dropped though it
    can still win; candidates that are not ranked; a record that is not the trace's; and a trace that does not follow
    where the decode is cancelled."""
    updates, records, settled, text = [], [], [], ""
    for update in dsbd.stream(toy_pair(), PROMPT, settings(**changes), record=True):
        updates.append(update)
        records.append(update.iteration)
        assert update.trace.iterations == records
        assert dsbd.verify_trace(update.trace).passed
        assert pickle.loads(pickle.dumps(update.iteration)) == update.iteration
    assert [update.iteration for update in updates] == records  # each keeps its own
    result = updates[-1].result
    for update in updates:
        scores = [candidate.score for candidate in update.candidates]
        assert scores == sorted(scores, reverse=True)
        paths = [(candidate.node.token_ids(), candidate.finished) for candidate in update.candidates]
        ids = result.token_ids
        assert any(path == ids if finished else path == ids[: len(path)] for path, finished in paths)
        assert sum(finished for _, finished in paths) <= 1
        assert update.best.token_ids == (paths[0][0] if update.result is None else result.token_ids)
        assert update.text == update.best.text
        assert update.best.token_ids[: len(settled)] == settled
        settled = update.settled_ids
        assert update.settled_text.startswith(text)
        text = update.settled_text
    assert (settled, text) == (result.token_ids, result.text)
    assert (result.trace.iterations, result.stats.iterations) == (records, len(updates))


def test_a_bos_that_stands_in_the_prompt_is_not_doubled():
    """Catches a rendered chat template that begins with two, and one of two that the text has that is lost."""
    pair = make_pair(toy_pair().target, None, llama_2_tokenizer())
    alone = pair.encode("a a")
    pair.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing("<end> $A", None, [("<end>", EOS)])
    assert pair.encode("a a") == pair.encode("<end>a a") == [EOS, *alone]
    assert pair.encode("<end><end>a a")[:3] == [EOS] * 3


def euros_and_letters(ids, logits):
    """Allow the three bytes of a euro sign in a row, and two letters; at first the letter with a space."""
    allowed = torch.full_like(logits, -math.inf)
    for row, last in enumerate(ids[:, -1].tolist()):
        places = {0xE2: [0x82], 0x82: [0xAC]}.get(last, [0xE2, 258, 259] if ids.shape[1] > 2 else [258])
        allowed[row, places] = logits[row, places]
    return allowed


@pytest.mark.parametrize("method", ["dsbd", "sampling"])
def test_a_text_is_what_the_tokens_add_to_the_prompt(method):
    """Catches settled text that shrinks where bytes make a character or none, and a first space that is lost."""
    pair, texts = make_pair(toy_pair().target, toy_pair().draft, llama_2_tokenizer()), []
    prompt, options = pair.encode("a a"), {"processors": [euros_and_letters]}
    for seed in range(12):
        chosen, settled = dsbd.DecodingSettings(method=method, max_new_tokens=12, seed=seed), ""
        for update in dsbd.stream(pair, "a a", chosen, **options):
            assert update.settled_text.startswith(settled)
            settled = update.settled_text
        whole = pair.detokenize([*prompt, *update.result.token_ids])
        assert settled == update.text == whole[len(pair.detokenize(prompt)) :]
        assert dsbd.decode(pair, "a a", chosen, stop=" a", **options).text == cut(settled, [" a"])
        texts.append(settled)
    assert all(text.startswith(" a") for text in texts)
    assert all(any(part in text for text in texts) for part in ("\u20ac", "\ufffd"))


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
def test_hypotheses_are_ranked_by_score(penalty):
    """Catches the likeliest text in place of the best one, and texts that are rated by another length penalty."""
    pair, watch = replace(toy_pair(), eos=frozenset(range(0, VOCABULARY, 5))), Iterations()
    chosen = settings(length_penalty=penalty, min_width=4, max_width=4)
    for update in dsbd.stream(pair, PROMPT, chosen, observers=[watch]):
        layers = [layer for iteration in watch.seen for layer in iteration.layers]
        ended = [beam for layer in layers for beam in layer.beams if beam.node.token in pair.eos]
        scores = [beam.log_weight / beam.node.length**penalty for beam in ended]
        assert [one.score for one in update.candidates if one.finished] == [max(scores)] * bool(scores)
        shown = [one.log_weight / one.node.length**penalty for one in update.candidates]
        assert [one.score for one in update.candidates] == shown == sorted(shown, reverse=True)
    beams = update.result.beams
    assert [beam.score for beam in beams] == sorted((beam.score for beam in beams), reverse=True)
    assert sorted(beam.score for beam in beams if beam.finished) == sorted(scores)


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


def above(nodes) -> set[Node]:
    """Return all ancestors of some nodes, the root included."""
    ancestors = set()
    for node in nodes:
        while (node := node.parent) is not None:
            ancestors.add(node)
    return ancestors


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_each_row_keeps_what_it_was_fed_and_the_beams_stand_on(changes, monkeypatch):
    """Catches slots of the draft model that are never freed, or pass for nodes it was not fed, and buffers that grow in
    the middle of an ordinary decode: the old and the new exist together."""
    rows = []

    def noted(start, target_state, drafter, clock) -> Session:
        rows[:] = [target_state] if drafter is None else [target_state, drafter.state]
        return Session(start, target_state, drafter, clock)

    class Slots(dsbd.Observer):
        def on_start(self, start) -> None:
            self.fed, self.bonus = {start.root}, 0

        def on_iteration(self, iteration) -> None:
            inputs, outputs = (
                {beam.node for beam in beams} for beams in (iteration.input_beams, iteration.output_beams)
            )
            if iteration.drafted:
                self.fed |= above(inputs) | inputs
            for layer in iteration.drafted[:-1]:
                self.fed |= set(layer.untested if changes.get("forest") else layer.drafts)
            self.bonus += iteration.layers[-1].outcome == "bonus"
            if len(rows) == 2 and outputs:
                kept = above(outputs), above(outputs) & self.fed
                assert [row.slots for row in rows] == [len(PROMPT) - 1 + len(nodes) for nodes in kept]

    monkeypatch.setattr(decoder, "Session", noted)
    equal = replace(toy_pair(), draft=toy_pair().target)  # every draft is accepted, so the last layer is stood on
    for pair in (toy_pair(), equal):
        watch = Slots()
        stats = dsbd.decode(pair, PROMPT, settings(**changes), observers=[watch]).stats
        assert len(rows) == (1 if changes.get("method") else 2)
        assert stats.kv_peak_bytes == sum(row.cache.capacity * row.cache.slot_bytes for row in rows)
    assert watch.bonus


@pytest.mark.parametrize(("method", "seen"), [("dsbd", None), ("specinfer", None), ("mjgd", "a memory")])
def test_a_draft_model_sees_no_memory(method, seen):
    """Catches the target's embedding in front of the draft model's prompt, and a search in the target without it."""
    chosen, memory = resolve(dsbd.DecodingSettings(method=method)), SimpleNamespace(embedding="a memory")
    target, drafter = Mock(), Mock()
    Session(RunStart(toy_pair(), PROMPT, [1, 2], chosen, memory=memory), target, drafter, None).prefill()
    assert [row.prefill.call_args.args[2] for row in (target, drafter.state)] == ["a memory", seen]


ENDS = list("=AEFKSXfs")


@pytest.mark.parametrize("method", ["sampling", "speculative", "beam_sampling", "dsbd", "beam_search"])
def test_an_answer_that_ends_at_a_text_is_that_of_the_whole_decode(method):
    """Catches a decode that ends because the best hypothesis has the text, while another one may still be returned, a
    stream that shows what is cut off, and a trace of it that does not follow."""
    saved = 0
    for seed in range(4):
        chosen = dsbd.DecodingSettings(method=method, max_new_tokens=16, seed=seed)
        whole, shown = dsbd.decode(toy_pair(), "Once", chosen), ""
        for update in dsbd.stream(toy_pair(), "Once", chosen, stop=ENDS, record=True):
            shown += update.delta
            assert shown == update.settled_text
            assert str(update) == update.text == cut(update.best.text, ENDS)
        early = update.result
        assert shown == early.text == cut(whole.text, ENDS)
        assert early.stats.layers <= whole.stats.layers
        assert dsbd.verify_trace(early.trace).failure is None
        saved += whole.stats.layers - early.stats.layers
    assert saved > 0, "the texts are never there: this test sees nothing"


def test_an_end_in_several_tokens_is_never_shown():
    """Catches the first half of an end text in the settled text, and an end that depends on which one is longer."""
    whole = dsbd.decode(toy_pair(), "Once", STOPPED).text
    for ends in (whole[4:7], [whole[3:9], whole[5:7]], lambda update: len(update.settled_ids) >= 6):
        shown = [update.delta for update in dsbd.stream(toy_pair(), "Once", STOPPED, stop=ends)]
        place = {str: 4, list: 5}.get(type(ends))
        assert "".join(shown) == (whole[:place] if place else whole[: len("".join(shown))])
        assert 4 <= len("".join(shown)) < len(whole)


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Once"}]
IN_PARTS = [{"role": "user", "content": [{"type": "text", "text": part} for part in ("On", "ce")]}]
TEMPLATE = (
    "{% for one in messages %}<{{ one.role }}>{{ one.content }}{% endfor %}{% if add_generation_prompt %}:{% endif %}"
)
READS_PARTS = TEMPLATE.replace("{{ one.content }}", "{% for part in one.content %}{{ part.text }}{% endfor %}")
ADDS_PARTS = TEMPLATE.replace("{{ one.content }}", "{{ (one.content + [])[0].text }}")


@pytest.mark.parametrize("template", [TEMPLATE, READS_PARTS, ADDS_PARTS])
def test_the_type_of_a_prompt_decides(template, monkeypatch):
    """Catches ids that are read as text, a system message or a turn that is lost in silence, ids that a mask hides, and
    texts of a list that change each other."""
    pair, chosen = toy_pair(), dsbd.DecodingSettings(max_new_tokens=6)
    monkeypatch.setattr(pair.tokenizer, "chat_template", template)
    ids, written = pair.encode("Once", chat=False), "<system>Be brief.<user>Once:"
    tensor, whole = torch.tensor(ids), pair.tokenizer("Once", return_tensors="pt")
    padded = {"input_ids": [[7, *ids]], "attention_mask": torch.tensor([[0, 1, 1, 1, 1]])}
    same = {"Once": [ids, tuple(ids), [ids], tensor, tensor[None], tensor.numpy(), list(tensor.numpy()), whole, padded],
            written: [MESSAGES, tuple(MESSAGES)], "<user>Once:": [MESSAGES[1:], IN_PARTS]}  # fmt: skip
    for text, prompts in same.items():
        expected = dsbd.decode(pair, text, chosen, chat=False)
        for prompt in prompts:
            result = dsbd.decode(pair, prompt, chosen, record=True)
            assert (result.beams, result.trace.prompt.text) == (expected.beams, text)
            assert verify_trace.replay(result.trace, pair) == {"difference": None, "largest": 0.0}
    alone = [dsbd.decode(pair, text, chosen, chat=True).beams for text in ("Once", "One")]
    assert [one.beams for one in dsbd.decode(pair, ["Once", "One"], chosen, chat=True)] == alone
    with pytest.raises(PromptError, match="exceeds"):
        dsbd.decode(pair, ["Once", "a" * 200], chosen, observers=[Mock(spec=dsbd.Observer, on_start=pytest.fail)])


def test_many_prompts_are_decoded_in_turn_and_one_that_fails_costs_the_others_nothing(monkeypatch):
    """Catches prompts that are taken too early, another order, a failure that loses all, an error that keeps the
    tensors of its decode, and what is wrong for every prompt told once for each."""
    pair, taken, failing = toy_pair(), [], "a" * 200

    def prompts():
        for prompt in ("Once", failing, pair.encode("On"), "One"):
            taken.append(prompt)
            yield prompt

    results = dsbd.decode_many(pair, prompts(), on_error="keep", max_new_tokens=4)
    assert taken == []
    assert next(results).beams == dsbd.decode(pair, "Once", max_new_tokens=4).beams
    assert taken == ["Once"]
    error, *others = results
    assert [one.beams for one in others] == [dsbd.decode(pair, one, max_new_tokens=4).beams for one in ("On", "One")]
    assert "exceeds" in str(error)
    assert (type(error), error.__traceback__, error.__context__) == (PromptError, None, None)
    results = dsbd.decode_many(pair, prompts(), max_new_tokens=4)
    assert next(results).stats.layers == 4
    with pytest.raises(PromptError, match="exceeds"):
        next(results)
    for options, message in (
        ({"temperature": -1.0}, "temperature is"),
        ({"on_error": "skip"}, "on_error is 'skip'; give 'raise' or 'keep'"),
        ({"prompts": "Once"}, "prompts is 'Once'; give an iterable of prompts"),
        ({"stop": [""]}, "stop is"),
        ({"widht": 3}, "widht"),
    ):
        with pytest.raises(SettingsError, match=message):
            next(dsbd.decode_many(pair, **{"prompts": ["Once"], "on_error": "keep", **options}))
    for kept, cause in ((ModelError, MemoryError()), (None, StoppedError("stopped"))):
        monkeypatch.setattr("dsbd.api.iterations", Mock(side_effect=cause))
        results = dsbd.decode_many(pair, ["Once"], on_error="keep")
        if kept:
            assert type(next(results)) is kept
        else:
            with pytest.raises(StoppedError):
                next(results)


@pytest.mark.parametrize(
    ("template", "prompt", "message"),
    [
        ("Hello", "Once", r"template of toy/target leaves out message 1 of 1 \(role 'user'\)"),
        ("{{ messages[-1].content }}", MESSAGES, r"leaves out message 1 of 2 \(role 'system'\); leave it out"),
        ("{{ messages[0].content }}", "", "makes no token of this prompt; give some text"),
        ("{{ raise_exception('no system') }}", MESSAGES, "TemplateError: no system"),
        (TEMPLATE, [{"role": "user", "content": [{"type": "image"}]}], "give a text, or a list of parts with a text"),
        (TEMPLATE, [{"role": "user", "content": None}], "content of a message is None; give a text"),
    ],
)
def test_a_chat_that_the_template_does_not_write_is_refused(template, prompt, message, monkeypatch):
    """Catches two prompts with the same ids, and an error from within."""
    monkeypatch.setattr(toy_pair().tokenizer, "chat_template", template)
    with pytest.raises(PromptError, match=message):
        dsbd.decode(toy_pair(), prompt)


STOPPED = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=3, draft_width=4, seed=3)


def stop_at(number: int) -> Mock:
    """Say stop when asked for the ``number``-th time."""
    return Mock(side_effect=[False] * (number - 1) + [True])


def test_a_cancel_ends_the_decode_before_the_next_forward():
    """Catches a cancel that waits for the end of an iteration, is missed, or leaves something behind."""
    pair, expected = toy_pair(), dsbd.decode(toy_pair(), PROMPT, STOPPED)
    forwards = expected.stats.target_calls + expected.stats.draft_calls
    per_iteration = 1 + STOPPED.draft_depth
    for number in range(1, forwards + 1):
        stop, watch = stop_at(number), Iterations()
        with pytest.raises(dsbd.StoppedError, match="stopped before its end"):
            dsbd.decode(pair, PROMPT, STOPPED, observers=[watch], cancel=stop)
        assert stop.call_count == number
        if number <= 2 + 2 * per_iteration:  # the iterations near the end are shallower
            assert len(watch.seen) == max(number - 3, 0) // per_iteration
    never = stop_at(forwards + 1)
    again = dsbd.decode(pair, PROMPT, STOPPED, cancel=never)
    assert never.call_count == forwards
    assert (again.beams, again.stats.kv_peak_slots) == (expected.beams, expected.stats.kv_peak_slots)


def test_a_long_prompt_is_stopped_between_its_parts(monkeypatch):
    """Catches a long prompt that nobody can stop, and one whose parts are counted as forwards."""
    monkeypatch.setattr(forest, "PREFILL_TOKENS", 4)
    prompt = "Once upon a time"  # 16 tokens, of which 15 are stored: four parts
    stop, watch = stop_at(4), Iterations()
    with pytest.raises(dsbd.StoppedError):
        dsbd.decode(toy_pair(), prompt, STOPPED, observers=[watch], cancel=stop)
    assert (stop.call_count, watch.seen) == (4, [])
    parts = dsbd.decode(toy_pair(), prompt, STOPPED).stats
    assert parts.target_calls == parts.iterations + 1


@pytest.mark.parametrize(
    ("prompt", "options", "error", "message"),
    [
        ("a" * 100, {}, PromptError, "exceeds the context of 128 tokens of toy/target"),
        *[(wrong, {}, PromptError, r"prompt is an? .*; give a text, the ids of one \(list")
          for wrong in (5, None, b"hi", [], [1.5], [True], ["hi", 5], [[1], [2]], {"role": "user"}, [{"role": "user"}],
                        torch.ones(2, 2), {"input_ids": [[1], [2]]})],
        ([{"role": "user", "content": "hi"}], {}, PromptError, "toy/target has no chat template; give a text"),
        ([1, 2, 400], {}, PromptError, "id 2 of the prompt is 400; allowed are 0 to"),
        ([1, 2], {"chat": True}, PromptError, "prompt is ids.*leave chat off"),
        ("a\ud800", {}, PromptError, "not valid Unicode at character 1"),
        ("hi", {"chat": True}, PromptError, "no chat template"),
        ("hi", {"settings": {"max_new_tokens": 4}}, dsbd.SettingsError, r"give dsbd.DecodingSettings.from_dict"),
        ("hi", {"settings": 4}, dsbd.SettingsError, r"settings is 4; give dsbd.DecodingSettings\("),
        ("hi", {"observers": [1]}, dsbd.SettingsError, r"observers is \[1\]; give a list"),
        *[("hi", {wrong: 1}, dsbd.SettingsError, f"unknown setting '{wrong}'; {meant}")
          for wrong, meant in (
              ("recrod", "did you mean record"), ("stop_strings", "take stop, a"), ("max_length", "take max_new"),
              ("do_sample", "take method: sampling"), ("num_return_sequences", "take result.beams"), ("n", "take res"),
              ("assistant_model", r"take the draft of load_pair\("), ("num_assistant_tokens", "take draft_depth"),
              ("prompt_lookup_num_tokens", "take draft_depth, with the draft 'lookup'"), ("max_tokens", "take max_new"),
              ("num_beam_groups", "take replacement=False"), ("repetition_penalty", "take processors, such as"))],
        ("hi", {"cancel": True}, dsbd.SettingsError, "cancel is True; give a function"),
        *[("hi", {"stop": wrong}, dsbd.SettingsError, "stop is .*; give a text, a list of texts")
          for wrong in ("", 5, ["\n", ""], [5])],
        ("hi", {"stop": lambda: True}, dsbd.SettingsError, "a function without arguments is cancel"),
        ("hi", {"stop": bool, "record": True}, dsbd.SettingsError, "give texts, or leave out record"),
        ("hi", {"processors": [3]}, dsbd.SettingsError, r"processors is \[3\]"),
        ("hi", {"processors": [print], "record": True}, dsbd.SettingsError, "leave out record"),
        ("hi", {"processors": [lambda ids, logits: logits[:, :5]]}, dsbd.ModelError, "the logits processor <lambda>"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_what_cannot_be_decoded_is_named(prompt, options, error, message):
    """Catches an AttributeError or a TypeError from within, and settings that are silently the defaults."""
    with pytest.raises(error, match=message):
        dsbd.stream(toy_pair(), prompt, **options) and dsbd.decode(toy_pair(), prompt, **options)


def test_a_pair_is_named_and_has_the_models_that_the_method_calls():
    with pytest.raises(PairError, match="give what dsbd"):
        dsbd.decode("x", PROMPT)
    alone = make_pair(toy_pair().target, None, toy_pair().tokenizer)
    with pytest.raises(PairError, match="needs a draft model"):
        dsbd.decode(alone, PROMPT)
    assert dsbd.decode(alone, PROMPT, dsbd.DecodingSettings(method="beam_sampling", max_new_tokens=3)).token_ids


def test_a_repr_is_one_short_line():
    """Catches a trace or a text that fills the screen, and a path that is too deep to print."""
    *_, update = dsbd.stream(toy_pair(), "One day\n" * 4, dsbd.DecodingSettings(max_new_tokens=24), record=True)
    trace, node = update.result.trace, Node(None, -1, 0)
    for token in range(3000):
        node = node.child(token)
    deep = Hypothesis(node, -1.0, -1.0, False, 1)
    for one in (toy_pair(), toy_pair().target, update, update.result, trace, trace.iterations[0], deep):
        assert 20 < len(repr(one)) < 400, type(one)
        assert "\n" not in repr(one)


def test_the_examples_hold():
    """Catches an example that says something else than the code does."""
    for module in (results, settings_module, sql, util):
        done = doctest.testmod(module)
        assert (done.failed, done.attempted > 0) == (0, True), module
