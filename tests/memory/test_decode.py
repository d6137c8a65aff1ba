"""Decoding behind a memory: the law, the trace, and the errors."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.errors import PromptError, StoppedError, TraceError
from dsbd.memory.reading import Memory
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import value_of
from tests.law import test_end_to_end as end_to_end
from tests.memory.toys import random_network
from tests.toy_pair import EOS, Digits, toy_model, toy_pair, toy_tokenizer

LONG = "In a big wood there lived a small bear who did not like honey at all. " * 3
CONTEXT = 128


def remembering(pair: dsbd.Pair, **sizes) -> dsbd.Pair:
    """Return a pair whose target has a random memory."""
    network = random_network(pair.target.config.hidden_size, **sizes).double()
    target = replace(pair.target, memory=Memory("toy", network))
    return make_pair(target, pair.draft, pair.tokenizer, engine="eager")


@pytest.fixture(scope="module")
def pair() -> dsbd.Pair:
    return remembering(toy_pair(), segment_tokens=24)


class BehindMemory(end_to_end.ModelTables):
    """The oracle's tables: the target runs each path alone behind the memory, the draft without it."""

    def __init__(self, pair: dsbd.Pair) -> None:
        super().__init__(pair)
        window = value_of(pair.fitting(pair.encode(PROMPT), 3))
        tables = {}

        @torch.inference_mode()
        def table(role: str, path: tuple[int, ...]) -> list[float]:
            if (role, path) not in tables:
                model = getattr(pair, role)
                tokens = torch.tensor([[*window.ids, *path]])
                given = model.behind(window.memory.embedding, tokens) if role == "target" else tokens
                tables[role, path] = model.forward(given)[0, -1].softmax(0).tolist()
            return tables[role, path]

        self.next_token = {role: lambda path, role=role: table(role, path) for role in ("target", "draft")}


PROMPT = "3524673524607352746" * 4


@pytest.mark.parametrize("changes", [{}, pytest.param({"replacement": False}, marks=pytest.mark.slow)], ids=str)
def test_a_decode_has_the_law_behind_its_memory(changes: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a memory that only some of the forest sees, positions that are not shifted, and a second law of DSBD:
    the same enumeration as without a memory, the oracle's tables being p(. | memory)."""
    made = make_pair(end_to_end._model(2, 0.0), end_to_end._model(3, 0.05), Digits(0, end_to_end.EOS), engine="eager")
    pair = remembering(made, segment_tokens=6, sensory_tokens=2)
    decode, values = dsbd.decode, {**end_to_end.FIXED, **changes}
    monkeypatch.setattr(end_to_end, "ModelTables", BehindMemory)
    monkeypatch.setattr(
        end_to_end.dsbd, "decode", lambda pair, prompt, *more, **how: decode(pair, PROMPT, *more, **how)
    )
    settings = dsbd.DecodingSettings(**values)
    assert end_to_end._p_value(pair, settings, values["max_width"]) > end_to_end.FALSE_ALARM


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_log_weights_are_those_behind_the_memory(pair, method) -> None:
    """Catches a method whose target reads the window without its memory."""
    settings = dsbd.DecodingSettings(method=method, max_new_tokens=6, block=1) if method == "mjgd" else None
    settings = settings or dsbd.DecodingSettings(method=method, max_new_tokens=6)
    window = value_of(pair.fitting(pair.encode(LONG), 6))
    for beam in dsbd.decode(pair, LONG, settings).beams:
        tokens = torch.tensor([[*window.ids, *beam.token_ids]])
        with torch.inference_mode():
            logits = pair.target.forward(pair.target.behind(window.memory.embedding, tokens))[0]
        laws = logits[len(window.ids) : -1].double().log_softmax(-1)
        again = laws.gather(1, torch.tensor(beam.token_ids)[:, None]).sum().item()
        assert beam.log_weight == pytest.approx(again, abs=1e-6)


@pytest.mark.parametrize("engine", ["traced", "fused", "onnx"])
def test_every_engine_stands_behind_the_memory(engine) -> None:
    """Catches an engine that counts positions or slots from the first token."""
    draft, target = (toy_model(seed, 1, head_size=16).float() for seed in (2, 1))
    network = random_network(32, segment_tokens=24)
    found = []
    for name in ("eager", engine):
        model = replace(LanguageModel(target, "toy/target"), memory=Memory("toy", network))
        made = make_pair(model, draft, toy_tokenizer(), engine=name)
        assert made.target.engine == name, made.fallbacks
        found.append(dsbd.decode(made, LONG, dsbd.DecodingSettings(max_new_tokens=16, seed=2)))
    assert [beam.token_ids for beam in found[0].beams] == [beam.token_ids for beam in found[1].beams]


def test_a_prompt_that_fits_is_not_read(pair) -> None:
    """Catches a memory that changes the law of short prompts."""
    settings = dsbd.DecodingSettings(max_new_tokens=12, seed=3)
    plain = dsbd.decode(toy_pair(), "One day", settings)
    assert dsbd.decode(pair, "One day", settings, record=True).beams == plain.beams
    assert "memory" not in dsbd.decode(pair, "One day", settings, record=True).trace.to_dict()["prompt"]


def test_a_trace_holds_the_segments_and_passes_the_audit(pair) -> None:
    """Catches segments, sensory tokens or a digest that are not those that were used, and a trace that cannot be
    decided again."""
    settings = dsbd.DecodingSettings(max_new_tokens=12, seed=3)
    trace = dsbd.decode(pair, LONG, settings, record=True).trace
    ids, record = pair.encode(LONG), trace.prompt.memory
    window = value_of(pair.fitting(ids, 12))
    assert dsbd.verify_trace(trace).passed
    assert Trace.loads(trace.dumps()) == trace
    assert (record.name, record.digest) == ("toy", window.memory.digest)
    assert "".join(segment.text for segment in record.segments) == LONG
    assert [segment.tokens for segment in record.segments] == [len(ids) % 24, *[24] * (len(ids) // 24)]
    assert [piece.token_id for piece in trace.prompt.pieces] == ids[-24 - record.sensory :]
    assert all(sum(segment.weights) == pytest.approx(1, abs=1e-5) for segment in record.segments[1:])
    assert trace.iterations[0].kept.prompt_slots == len(trace.prompt.pieces)  # the memory, and all ids but the last
    short = dsbd.decode(pair, "One day", settings, record=True).trace
    assert short.digest == canonical_digest(short)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda memory: memory.update(sensory=2), "are not the 27 tokens of the prompt"),
        (
            lambda memory: memory.update(segments=memory["segments"][-1:]),
            "segment 1 of the prompt is empty, or recalls",
        ),
        (lambda memory: memory["segments"][1].update(first_memory=1), "segment 2 of the prompt is empty, or recalls"),
        (lambda memory: memory["segments"][0].update(tokens=0), "segment 1 of the prompt is empty"),
        (lambda memory: memory["segments"][1]["weights"].append(0.5), "segment 2 of the prompt is empty, or recalls"),
        (
            lambda memory: memory["segments"][2].update(weights=[0.5, 0.6]),
            "the weights of segment 3 of the prompt do not add up to 1",
        ),
        (lambda memory: memory.update(more=1), r"prompt\.memory\.more"),
    ],
)
def test_a_damaged_memory_of_a_trace_is_one_sentence(pair, spoil, said) -> None:
    plain = dsbd.decode(pair, LONG, dsbd.DecodingSettings(max_new_tokens=2), record=True).trace.to_dict()
    spoil(plain["prompt"]["memory"])
    with pytest.raises(TraceError, match=said):
        Trace.from_dict(plain)


def test_what_does_not_fit_behind_the_memory_is_refused(pair) -> None:
    """Catches a window that leaves no room for the new tokens, and a prompt read before it is refused."""
    room = CONTEXT - (1 + 3 + 24)
    settings = dsbd.DecodingSettings(max_new_tokens=room + 1)
    said = rf"prompt of 210 tokens is read .* last segment of 24 tokens stays, 28 .*; lower max_new_tokens to {room} or"
    with pytest.raises(PromptError, match=said):
        dsbd.stream(pair, LONG, settings)
    crowded = remembering(toy_pair(), segment_tokens=CONTEXT)
    with pytest.raises(PromptError, match=r"last segment of 128 tokens .*; take a memory with shorter segments"):
        dsbd.stream(crowded, LONG, dsbd.DecodingSettings(max_new_tokens=1))
    result = dsbd.decode(pair, LONG, dsbd.DecodingSettings(method="greedy", max_new_tokens=room))
    assert len(result.token_ids) == room or result.token_ids[-1] == EOS


def test_reading_tells_how_far_it_is_and_stops(pair) -> None:
    """Catches a long prompt that cannot be cancelled while it is read."""
    from dsbd.api import planning

    steps = list(planning(pair, LONG + "!", dsbd.DecodingSettings(max_new_tokens=4, draft_depth=2)))
    assert [step.done for step in steps] == list(range(1, steps[0].total + 1))
    calls = Counter()

    def stop() -> bool:
        calls["asked"] += 1
        return calls["asked"] > 2

    with pytest.raises(StoppedError):
        dsbd.decode(pair, LONG + "?", dsbd.DecodingSettings(max_new_tokens=4), stop=stop)
    assert calls["asked"] == 3
