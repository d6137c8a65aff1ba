"""The decoders of this package behind the call of transformers: ``model.generate(..., custom_generate=dsbd.generate)``.

What ``generate`` was asked for becomes settings. What these decoders cannot honour is refused by name.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import (
    EosTokenCriteria,
    GenerationConfig,
    LogitNormalization,
    MaxLengthCriteria,
    MaxTimeCriteria,
    PrefixConstrainedLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.law.beams import Node
from dsbd.methods import resolve
from dsbd.models.choices import resolve_engine
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair, make_pair
from dsbd.models.processed import Processor
from dsbd.observer import RunStart
from dsbd.results import DecodedBeam, DecodingResult
from dsbd.session import Snapshot
from dsbd.settings import DecodingSettings

IN_SETTINGS = (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, LogitNormalization)
"""Processors that are left out: the joint law is warped once over all beams, as the settings say."""
NOT_OF_ONE_SEQUENCE = frozenset(
    {
        "EpsilonLogitsWarper",
        "EtaLogitsWarper",
        "MinPLogitsWarper",
        "SynthIDTextWatermarkLogitsProcessor",
        "TopHLogitsWarper",
        "TypicalLogitsWarper",
        "UnbatchedClassifierFreeGuidanceLogitsProcessor",
        "WatermarkLogitsProcessor",
    }
)
"""Processors that are refused: they follow the temperature, keep a state, or call the model themselves."""
REFUSED = {
    "constraints": None,
    "diversity_penalty": 0.0,
    "force_words_ids": None,
    "guidance_scale": 1,
    "num_beam_groups": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_logits": False,
    "output_scores": False,
    "penalty_alpha": 0.0,
    "prompt_lookup_num_tokens": None,
    "token_healing": False,
}
"""Fields of a GenerationConfig that cannot be honoured, with the value that asks for nothing."""
KNOWN_INPUTS = frozenset(
    {"attention_mask", "cache_position", "logits_to_keep", "past_key_values", "position_ids", "use_cache"}
)
"""What ``generate`` prepares for a forward of its own; all but the mask is made anew here."""

_pairs: WeakKeyDictionary[Any, dict[int, Pair]] = WeakKeyDictionary()


def generate(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Sequence[Processor] = (),
    stopping_criteria: Sequence[Any] = (),
    generation_config: GenerationConfig | None = None,
    draft_model: Any = None,
    draft_depth: int = 4,
    draft_width: int | None = None,
    **inputs: Any,
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    """Decode for ``model.generate(**inputs, custom_generate=dsbd.generate, draft_model=draft, num_beams=4, ...)``.

    With several beams ``do_sample=True`` is DSBD of fixed width ``num_beams`` without replacement: the law of
    ``beam_sampling`` without replacement, so the beams differ. ``do_sample=False`` is ``speculative_beam_search``. With
    one beam they are speculative sampling, and the same at temperature 0. Without a draft model nothing is drafted.
    The seed comes from torch's global generator, so ``transformers.set_seed`` governs it.

    Args:
        model: the target, on which ``generate`` was called.
        input_ids: [prompts * max(num_beams, num_return_sequences), length], int64; prompts are decoded one by one.
        logits_processor: may look at one sequence each (bad words, n-grams, forced tokens, a grammar, ...); both
            models' logits pass through them before the joint law is made.
        stopping_criteria: with one beam any; with several, those of length, time and EOS.
        generation_config: as ``generate`` prepared it.
        draft_model: a smaller model with the same tokenizer. ``generate`` hands its own argument ``assistant_model`` to
            nobody, so it has this name.
        draft_depth: tokens that the draft looks ahead.
        draft_width: drafts for each of them; None is num_beams + 2, and 1 for one beam.
        inputs: what else ``generate`` passes on; of it the attention mask is read.

    Returns:
        ids [prompts * num_return_sequences, longest], prompts included, padded on the right; or with
        ``return_dict_in_generate`` an output with ``sequences`` and ``sequences_scores`` (log-weight over
        length ** length_penalty).

    Raises:
        SettingsError: something was asked that cannot be honoured; the message names it.
        PairError: the vocabularies differ, or the model is no causal language model.
    """
    config = generation_config if generation_config is not None else model.generation_config
    _refuse(config, inputs)
    asked = _settings(config, draft_model, draft_depth, draft_width)
    returned = config.num_return_sequences or 1
    if returned > asked.num_beams:
        raise SettingsError(f"num_return_sequences is {returned}; allowed are 1 to num_beams, {asked.num_beams}")
    pair = replace(_pair(model, draft_model), eos=_eos(config))
    processors, stops = _processors(logits_processor), _stops(stopping_criteria, asked.num_beams)
    prompts = _prompts(input_ids, inputs.get("attention_mask"), max(asked.num_beams, returned))
    beams = list[tuple[list[int], DecodedBeam]]()
    for padding, prompt in prompts:
        room = _room(config, stopping_criteria, input_ids.shape[1])
        pair.require_room(len(prompt), room)
        seed = int(torch.randint(2**31, ()).item())
        settings = replace(asked, max_new_tokens=room, seed=seed)
        result = _decode(pair, prompt, settings, _behind(padding, processors), stops)
        best = result.beams[:returned]
        beams += [(prompt, beam) for beam in [*best, *[best[-1]] * (returned - len(best))]]
    return _output(beams, input_ids, config)


def _refuse(config: GenerationConfig, inputs: dict[str, Any]) -> None:
    for name, nothing in REFUSED.items():
        value = getattr(config, name, None)
        if value is not None and value != nothing:
            raise SettingsError(f"{name} is {value!r}; dsbd.generate cannot honour it; leave it out")
    for name, value in inputs.items():
        if value is not None and name not in KNOWN_INPUTS:
            raise SettingsError(f"{name} is given; dsbd.generate reads only ids and their mask; leave it out")


def _settings(
    config: GenerationConfig, draft_model: Any, draft_depth: int, draft_width: int | None
) -> DecodingSettings:
    beams, samples = config.num_beams or 1, bool(config.do_sample)
    methods = {
        (True, True, True): "dsbd",
        (True, True, False): "speculative_beam_search",
        (True, False, True): "speculative",
        (True, False, False): "speculative",
        (False, True, True): "beam_sampling",
        (False, True, False): "beam_search",
        (False, False, True): "sampling",
        (False, False, False): "greedy",
    }
    several = beams > 1
    given: dict[str, Any] = {"draft_depth": draft_depth, "draft_width": draft_width or (beams + 2 if several else 1)}
    given |= {"temperature": 0.0, "top_k": 0, "top_p": 1.0}
    if samples:
        temperature, top_k, top_p = config.temperature, config.top_k, config.top_p
        given |= {"temperature": 1.0 if temperature is None else temperature}
        given |= {"top_k": top_k or 0, "top_p": 1.0 if top_p is None else top_p}
    if several:
        given |= {"num_beams": beams, "min_width": beams, "max_width": beams, "replacement": False}
    else:
        given |= {"num_beams": 1}
    penalty = 1.0 if config.length_penalty is None else config.length_penalty
    method = methods[draft_model is not None, several, samples]
    return DecodingSettings(method=method, length_penalty=penalty, **given)


def _pair(model: Any, draft_model: Any) -> Pair:
    """Return the pair of these models; it is checked once and kept as long as the target lives."""
    known = _pairs.setdefault(model, {})
    if id(draft_model) not in known:
        if model.config.is_encoder_decoder:
            raise PairError(f"{type(model).__name__} is an encoder-decoder model; use a decoder-only (causal) one")
        target = LanguageModel(model, _name(model))
        draft = None if draft_model is None else LanguageModel(draft_model, _name(draft_model))
        if draft is not None:
            limit = min(target.vocabulary_size, draft.vocabulary_size)
            target, draft = (
                one if one.vocabulary_size == limit else replace(one, vocabulary_limit=limit) for one in (target, draft)
            )
        known[id(draft_model)] = make_pair(target, draft, _Ids(), resolve_engine("auto", target.device))
    return known[id(draft_model)]


class _Ids:
    """Stands for the tokenizer, which ``generate`` does not have: no text is made."""

    eos_token_id = None

    def decode(self, ids: Sequence[int], **how: Any) -> str:
        return ""


def _name(model: Any) -> str:
    return str(getattr(model.config, "name_or_path", "") or type(model).__name__)


def _eos(config: GenerationConfig) -> frozenset[int]:
    named = config.eos_token_id
    return frozenset([] if named is None else named if isinstance(named, (list, tuple)) else [named])


def _processors(given: Sequence[Processor]) -> tuple[Processor, ...]:
    kept = list[Processor]()
    for one in given:
        name = type(one).__name__
        if name in NOT_OF_ONE_SEQUENCE:
            raise SettingsError(f"{name} cannot be honoured: it is no function of one sequence; leave it out")
        if isinstance(one, PrefixConstrainedLogitsProcessor):
            kept.append(_one_by_one(one))
        elif not isinstance(one, IN_SETTINGS):
            kept.append(one)
    return tuple(kept)


def _one_by_one(constraint: PrefixConstrainedLogitsProcessor) -> Processor:
    """Return the constraint as a function of any number of sequences of one prompt."""
    allowed = constraint._prefix_allowed_tokens_fn
    return PrefixConstrainedLogitsProcessor(lambda batch_id, ids: allowed(0, ids), 1)


def _behind(padding: torch.Tensor, processors: Sequence[Processor]) -> tuple[Processor, ...]:
    """Return the processors of a padded prompt: they see its padding, as in ``generate``, where it counts as length."""

    def seen_padded(one: Processor) -> Processor:
        return lambda ids, scores: one(torch.cat([padding.expand(ids.shape[0], -1), ids], dim=1), scores)

    return tuple(seen_padded(one) for one in processors) if padding.numel() else tuple(processors)


@dataclass(frozen=True)
class _Stops:
    """When a decode ends besides EOS and its length."""

    deadline: float | None
    """Seconds since the epoch."""
    criteria: tuple[Any, ...]
    """Asked about every beginning of the one sequence."""

    def first(self, ids: list[int], prompt: list[int], device: torch.device) -> int | None:
        """Return the length of the shortest beginning, at least one new token, at which a criterion holds."""
        for length in range(1, len(ids) + 1) if self.criteria else ():
            sequence = torch.tensor([prompt + ids[:length]], device=device)
            if any(bool(torch.as_tensor(criterion(sequence, None)).all()) for criterion in self.criteria):
                return length
        return None


def _stops(given: Sequence[Any], num_beams: int) -> _Stops:
    deadlines = [one.initial_timestamp + one.max_time for one in given if isinstance(one, MaxTimeCriteria)]
    others = tuple(one for one in given if not isinstance(one, (MaxLengthCriteria, MaxTimeCriteria, EosTokenCriteria)))
    if others and num_beams > 1:
        raise SettingsError(
            f"{type(others[0]).__name__} is given with {num_beams} beams; with several beams the stopping criteria are "
            f"max_length, max_time and EOS"
        )
    return _Stops(min(deadlines, default=None), others)


def _room(config: GenerationConfig, criteria: Sequence[Any], prompt: int) -> int:
    """Return how many tokens may follow a prompt; ``generate`` has turned max_new_tokens into a length."""
    if config.max_new_tokens is not None:
        return int(config.max_new_tokens)
    lengths = [one.max_length for one in criteria if isinstance(one, MaxLengthCriteria)]
    longest = min(lengths, default=config.max_length)
    if longest is None or longest <= prompt:
        raise SettingsError(f"max_length is {longest} and the prompt has {prompt} tokens; give max_new_tokens")
    return int(longest) - prompt


def _prompts(ids: torch.Tensor, mask: torch.Tensor | None, copies: int) -> list[tuple[torch.Tensor, list[int]]]:
    """Return each prompt once: its padding, and its ids behind it."""
    found = []
    for row in range(0, ids.shape[0], copies):
        seen = torch.ones_like(ids[row], dtype=torch.bool) if mask is None else mask[row].bool()
        found.append((ids[row][~seen], ids[row][seen].tolist()))
    return found


def _decode(
    pair: Pair, prompt: list[int], asked: DecodingSettings, processors: tuple[Processor, ...], stops: _Stops
) -> DecodingResult:
    """Decode one prompt, to the first place where a criterion holds."""
    start = RunStart(pair, "", prompt, resolve(asked), Node(None, -1, 0), processors)
    result = None
    for snapshot in iterations(start, enough=_enough(stops, prompt, pair.device)):
        result = snapshot.result
    assert result is not None, "the last snapshot carries the result"
    best = result.beams[0]
    cut = stops.first(best.token_ids, prompt, pair.device)
    if cut is None or cut == len(best.token_ids):
        return result
    return replace(result, beams=[replace(best, token_ids=best.token_ids[:cut], finished=False), *result.beams[1:]])


def _enough(stops: _Stops, prompt: list[int], device: torch.device) -> Callable[[Snapshot], bool]:
    def enough(snapshot: Snapshot) -> bool:
        if stops.deadline is not None and time.time() > stops.deadline:
            return True
        return stops.first(snapshot.candidates[0].node.token_ids(), prompt, device) is not None

    return enough


def _output(
    beams: Sequence[tuple[list[int], DecodedBeam]], input_ids: torch.Tensor, config: GenerationConfig
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    padding = config.pad_token_id if config.pad_token_id is not None else min(_eos(config), default=0)
    width, device = input_ids.shape[1], input_ids.device
    longest = width + max(len(beam.token_ids) for _, beam in beams)
    sequences: Any = torch.full((len(beams), longest), padding, dtype=input_ids.dtype, device=device)
    for row, (prompt, beam) in zip(sequences, beams, strict=True):
        row[width - len(prompt) : width] = torch.tensor(prompt, device=device)
        row[width : width + len(beam.token_ids)] = torch.tensor(beam.token_ids, device=device)
    if not config.return_dict_in_generate:
        return sequences
    scores = torch.tensor([beam.score for _, beam in beams], dtype=torch.float32, device=device)
    return GenerateBeamDecoderOnlyOutput(sequences=sequences, sequences_scores=scores)
