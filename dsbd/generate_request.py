"""What ``generate`` of transformers asks for, as settings, processors, stops and the prompt.

What cannot be honoured is refused by name.
"""

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
from transformers import (
    EosTokenCriteria,
    GenerationConfig,
    LogitNormalization,
    MaxLengthCriteria,
    MaxTimeCriteria,
    PrefixConstrainedLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from dsbd.errors import SettingsError
from dsbd.models.states.state import Processor
from dsbd.other_names import OTHER_NAMES
from dsbd.settings import FIELDS, DecodingSettings, fields_of

ALLOWED = {
    # read here, or arriving as processors
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "do_sample", "early_stopping", "eos_token_id",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length",
    "max_new_tokens", "max_time", "min_length", "min_new_tokens", "no_repeat_ngram_size", "num_beams",
    "num_return_sequences", "pad_token_id", "remove_invalid_values", "renormalize_logits", "repetition_penalty",
    "return_dict_in_generate", "sequence_bias", "stop_strings", "suppress_tokens", "temperature", "top_k", "top_p",
    # how forwards are computed, and where a configuration comes from
    "_from_model_config", "cache_config", "cache_implementation", "compile_config", "continuous_batching_config",
    "decoder_start_token_id", "disable_compile", "is_assistant", "low_memory", "max_cache_len",
    "prefill_chunk_size", "transformers_version", "use_cache",
}  # fmt: skip
"""Fields of a GenerationConfig that are honoured, or change no text."""
NOTHING = {
    "assistant_confidence_threshold": 0.4, "assistant_lookbehind": 10, "encoder_repetition_penalty": 1.0,
    "guidance_scale": 1, "num_assistant_tokens": 20, "num_assistant_tokens_schedule": "constant", "num_beam_groups": 1,
    "target_lookbehind": 10, "typical_p": 1.0,
}  # fmt: skip
"""Values of other fields that ask for nothing, besides None, False and 0."""
OWN = tuple(name for name in FIELDS if name != "method" and not hasattr(GenerationConfig(), name))
"""Settings that a GenerationConfig lacks: they are given by name beside its fields."""
KNOWN_INPUTS = {
    "attention_mask", "cache", "cache_params", "cache_position", "logits_to_keep", "past_key_values", "position_ids",
    "use_cache",
}  # fmt: skip
"""Inputs that ``generate`` prepares for its own forward: only the mask is used here."""
IN_SETTINGS = (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)
"""Warpers that a config makes, after those of the caller: the settings warp the joint distribution of all beams once
instead.
"""


def refuse_unknown(config: GenerationConfig, inputs: dict[str, Any]) -> None:
    """Raise SettingsError for the first option or input that cannot be honoured."""
    for name in sorted(vars(GenerationConfig()).keys() - ALLOWED):
        value = getattr(config, name, None)
        if value and value != NOTHING.get(name):
            hint = f" (dsbd has {OTHER_NAMES[name]})" if name in OTHER_NAMES else ""
            raise SettingsError(f"{name} is {value!r}; dsbd.generate cannot honour it{hint}; leave it out")
    for name, value in inputs.items():
        nothing = value is None or (isinstance(value, dict) and not value)  # models of images get {} without one
        if not nothing and name not in KNOWN_INPUTS:
            raise SettingsError(f"{name} is given; dsbd.generate reads only ids and their mask; leave it out")


def requested_settings(config: GenerationConfig, draft_model: Any, own: dict[str, Any]) -> DecodingSettings:
    """Return the method and the settings that have the distribution of what was asked; ``own`` are of :data:`OWN`."""
    beams, samples = config.num_beams or 1, bool(config.do_sample)
    if draft_model is None:
        several, one = ("beam_sampling", "sampling") if samples else ("beam_search", "greedy")
    else:
        several, one = "dsbd" if samples else "speculative_beam_search", "speculative"
    method = several if beams > 1 else one
    values: dict[str, Any] = dict.fromkeys(("num_beams", "min_width", "max_width"), beams) | {
        "replacement": False,
        "draft_width": beams + 2,
        "temperature": 0.0,
        "top_k": 0,
        "length_penalty": 1.0 if config.length_penalty is None else config.length_penalty,
        "early_stopping": config.early_stopping or False,
    }
    if samples:
        temperature, top_k, top_p = config.temperature, config.top_k, config.top_p
        values |= {"temperature": 1.0 if temperature is None else temperature}
        values |= {"top_k": top_k or 0, "top_p": 1.0 if top_p is None else top_p}
    if "width_threshold" in own:
        values["min_width"] = 1
    read = {one.name for one in fields_of(method)}
    return DecodingSettings(method=method, **{name: value for name, value in values.items() if name in read} | own)


def eos_ids(config: GenerationConfig) -> frozenset[int]:
    """Return the ids that end a text."""
    named = config.eos_token_id
    return frozenset([] if named is None else named if isinstance(named, (list, tuple)) else [named])


def of_the_caller(processors: Sequence[Processor], config: GenerationConfig) -> list[Processor]:
    """Return the processors without the warpers that the config made, the last ones of their kind."""
    warps = (config.temperature not in (None, 1.0), bool(config.top_k), (config.top_p or 1.0) < 1.0)
    own = [one for one in processors if type(one) is not LogitNormalization]
    for kind, is_warped in zip(IN_SETTINGS, warps, strict=True):
        if config.do_sample and is_warped:
            del own[max(index for index, one in enumerate(own) if type(one) is kind)]
    return own


def processors_of(processors: Sequence[Processor]) -> list[Processor]:
    """Return the caller's processors for any number of sequences of the one prompt."""
    functions = list[Processor]()
    for one in processors:
        if isinstance(one, PrefixConstrainedLogitsProcessor):
            one = _one_by_one(one)
        elif isinstance(one, RepetitionPenaltyLogitsProcessor) and isinstance(one.prompt_ignore_length, torch.Tensor):
            one = copy(one)
            one.prompt_ignore_length = 0  # instead of the padding of each row, of which there is none
        functions.append(one)
    return functions


def _one_by_one(constraint: PrefixConstrainedLogitsProcessor) -> Processor:
    """Return the constraint as a function of any number of sequences of prompt 0."""
    allowed = constraint._prefix_allowed_tokens_fn
    return PrefixConstrainedLogitsProcessor(lambda row, ids: allowed(0, ids), 1)


def requested_stops(criteria: Sequence[Any], num_beams: int) -> tuple[float, tuple[Any, ...]]:
    """Return when to stop besides EOS and the length: seconds since the epoch, and criteria of one sequence.

    Raises:
        SettingsError: a criterion of one sequence is given with several beams.
    """
    deadlines = [one.initial_timestamp + one.max_time for one in criteria if isinstance(one, MaxTimeCriteria)]
    known = (MaxLengthCriteria, MaxTimeCriteria, EosTokenCriteria)
    others = tuple(one for one in criteria if not isinstance(one, known))
    if others and num_beams > 1:
        raise SettingsError(
            f"{type(others[0]).__name__} is given with {num_beams} beams; with several beams the stopping criteria are "
            f"max_length, max_time and EOS; set num_beams=1 or leave it out"
        )
    return min(deadlines, default=math.inf), others


def room_for(config: GenerationConfig, criteria: Sequence[Any], prompt: int) -> int:
    """Return how many tokens may follow a prompt; ``generate`` has turned max_new_tokens into a length."""
    if config.max_new_tokens is not None:
        return int(config.max_new_tokens)
    lengths = [one.max_length for one in criteria if isinstance(one, MaxLengthCriteria)]
    longest = min(lengths, default=config.max_length)
    if longest is None or longest <= prompt:
        raise SettingsError(f"max_length is {longest} and the prompt has {prompt} tokens; give max_new_tokens")
    return int(longest) - prompt


def prompt_of(ids: torch.Tensor, inputs: dict[str, Any], copies: int) -> torch.Tensor:
    """Return the ids [length] of the one prompt, of which ``generate`` has made ``copies``.

    Raises:
        SettingsError: there are several prompts, the mask hides ids, or the positions do not count them.
    """
    mask, positions, shape = inputs.get("attention_mask"), inputs.get("position_ids"), list(ids.shape)
    if len(ids) != copies:
        raise SettingsError(f"input_ids are {len(ids) // copies} prompts; give one at a time")
    if mask is not None and (mask.shape != ids.shape or not bool((mask == 1).all())):
        raise SettingsError(f"attention_mask does not show all ids of {shape}; leave out hidden ids, and the mask")
    counted = torch.arange(shape[1], device=ids.device)
    if positions is not None and positions.dim() == 2 and not torch.equal(positions[0].to(ids.device), counted):
        raise SettingsError("position_ids do not count the prompt's ids from 0; leave position_ids out")
    return ids[0]
