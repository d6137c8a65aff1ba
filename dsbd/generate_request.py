"""What ``generate`` of transformers asks for, as settings, processors, stops and prompts.

What cannot be honoured is refused by name.
"""

import math
import reprlib
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

HONOURED = {
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "do_sample", "early_stopping", "eos_token_id",
    "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "max_new_tokens", "max_time", "min_length", "min_new_tokens", "min_p",
    "no_repeat_ngram_size", "num_beams", "num_return_sequences", "pad_token_id", "remove_invalid_values",
    "renormalize_logits", "repetition_penalty", "return_dict_in_generate", "sequence_bias", "stop_strings",
    "suppress_tokens", "temperature", "top_h", "top_k", "top_p", "typical_p", "watermarking_config",
}  # fmt: skip
"""Fields of a GenerationConfig that are read here, or that arrive as processors."""
HARMLESS = {
    "_from_model_config", "cache_config", "cache_implementation", "compile_config", "continuous_batching_config",
    "decoder_start_token_id", "disable_compile", "is_assistant", "low_memory", "max_cache_len",
    "prefill_chunk_size", "transformers_version", "use_cache",
}  # fmt: skip
"""Fields that change no text: how forwards are computed, and where a configuration comes from."""
NOTHING = GenerationConfig._get_default_generation_params() | {
    "guidance_scale": 1, "output_attentions": False, "output_hidden_states": False, "output_logits": False,
    "penalty_alpha": 0.0, "token_healing": False, "use_mtp": False,
}  # fmt: skip
"""Values besides None that ask for nothing. With any other value, fields that are not listed above are refused."""
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
NOT_OF_ONE_SEQUENCE = {
    "EncoderNoRepeatNGramLogitsProcessor", "EncoderRepetitionPenaltyLogitsProcessor", "EpsilonLogitsWarper",
    "EtaLogitsWarper", "MinPLogitsWarper", "SynthIDTextWatermarkLogitsProcessor", "TopHLogitsWarper",
    "TypicalLogitsWarper", "UnbatchedClassifierFreeGuidanceLogitsProcessor", "WatermarkLogitsProcessor",
}  # fmt: skip
"""Processors that are refused: they come after the temperature, read a state or other prompts, or call the model."""


def refuse_unknown(config: GenerationConfig, inputs: dict[str, Any]) -> None:
    """Raise SettingsError for the first option or input that cannot be honoured."""
    for name in sorted(vars(GenerationConfig()).keys() - HONOURED - HARMLESS):
        value, nothing = getattr(config, name, None), NOTHING.get(name)
        if value is not None and value != nothing:
            hint = f" (dsbd has {OTHER_NAMES[name]})" if name in OTHER_NAMES else ""
            raise SettingsError(
                f"{name} is {value!r}; dsbd.generate cannot honour it{hint}; leave it out, or set {nothing}"
            )
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


def processors_of(processors: Sequence[Processor], padding: torch.Tensor, row: int) -> tuple[Processor, ...]:
    """Return the processors of one prompt.

    Args:
        processors: those of the caller, for the whole batch.
        padding: ids [n] before the prompt; processors see them, as in ``generate``.
        row: the first row of ``generate`` that holds the prompt or the sample.

    Raises:
        SettingsError: a processor is not a function of one sequence.
    """
    functions = list[Processor]()
    for one in processors:
        name = type(one).__name__
        if name in NOT_OF_ONE_SEQUENCE:
            raise SettingsError(f"{name} cannot be honoured: it is not a function of one sequence; leave it out")
        if isinstance(one, PrefixConstrainedLogitsProcessor):
            functions.append(_one_by_one(one, row // one._num_beams))
        elif isinstance(one, RepetitionPenaltyLogitsProcessor) and isinstance(one.prompt_ignore_length, torch.Tensor):
            alone = copy(one)  # one number of ignored ids, instead of one for each prompt of the batch
            alone.prompt_ignore_length = padding.numel()
            functions.append(alone)
        else:
            functions.append(one)
    return tuple(_behind(padding, one) for one in functions) if padding.numel() else tuple(functions)


def _one_by_one(constraint: PrefixConstrainedLogitsProcessor, number: int) -> Processor:
    """Return the constraint as a function of any number of sequences of one prompt."""
    allowed = constraint._prefix_allowed_tokens_fn
    return PrefixConstrainedLogitsProcessor(lambda row, ids: allowed(number, ids), 1)


def _behind(padding: torch.Tensor, one: Processor) -> Processor:
    return lambda ids, scores: one(torch.cat([padding.expand(ids.shape[0], -1), ids], dim=1), scores)


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


def prompts_of(
    ids: torch.Tensor, mask: torch.Tensor | None, positions: torch.Tensor | None, copies: int
) -> list[tuple[torch.Tensor, int]]:
    """Return each prompt once: its ids [length] as they were given, and how many of the first are padding.

    Raises:
        SettingsError: the mask hides something else than ids in front of a prompt.
        SettingsError: the positions do not count the other ids.
    """
    mask = torch.ones_like(ids) if mask is None else mask.to(ids.device)
    if mask.shape != ids.shape:
        raise SettingsError(f"attention_mask is {list(mask.shape)} and input_ids are {list(ids.shape)}; give one shape")
    prompts = list[tuple[torch.Tensor, int]]()
    for row, shown in zip(ids[::copies], mask[::copies], strict=True):
        padding = int((shown == 0).sum())
        if padding == len(row) or not bool((shown[padding:] == 1).all()):
            raise SettingsError(
                f"attention_mask of prompt {len(prompts)} is {reprlib.repr(shown.tolist())}; allowed are zeros in "
                f"front of ones: pad with padding_side='left', leave hidden ids out, or give ones if the ids are text"
            )
        prompts.append((row, padding))
    if positions is not None and positions.dim() == 2:
        counted = (mask.cumsum(1) - 1).clamp(min=0)
        if positions.shape[1] != ids.shape[1] or bool(((positions != counted) & (mask == 1)).any()):
            raise SettingsError("position_ids do not count a prompt's ids from 0; leave position_ids out")
    return prompts
