"""Which options of ``generate`` of transformers are honoured; the others are refused by name."""

from typing import Any

from transformers import GenerationConfig

from dsbd.errors import SettingsError

HONOURED = {
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "do_sample", "eos_token_id", "epsilon_cutoff",
    "eta_cutoff", "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "max_new_tokens", "max_time", "min_length", "min_new_tokens", "min_p",
    "no_repeat_ngram_size", "num_beams", "num_return_sequences", "pad_token_id", "remove_invalid_values",
    "renormalize_logits", "repetition_penalty", "return_dict_in_generate", "sequence_bias", "stop_strings",
    "suppress_tokens", "temperature", "top_h", "top_k", "top_p", "typical_p", "watermarking_config",
}  # fmt: skip
"""Fields of a GenerationConfig that :mod:`dsbd.generation_request` reads, or that arrive there as processors."""
HARMLESS = {
    "_from_model_config", "cache_config", "cache_implementation", "compile_config", "continuous_batching_config",
    "decoder_start_token_id", "disable_compile", "is_assistant", "low_memory", "max_cache_len",
    "prefill_chunk_size", "transformers_version", "use_cache",
}  # fmt: skip
"""Fields that change no text: how forwards are computed, and where a configuration comes from."""
NOTHING = {
    "assistant_confidence_threshold": 0.4,
    "assistant_lookbehind": 10,
    "diversity_penalty": 0.0,
    "early_stopping": False,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "guidance_scale": 1,
    "num_assistant_tokens": 20,
    "num_assistant_tokens_schedule": "constant",
    "num_beam_groups": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_logits": False,
    "output_scores": False,
    "penalty_alpha": 0.0,
    "target_lookbehind": 10,
    "token_healing": False,
    "use_mtp": False,
}
"""Values besides None that ask for nothing. With any other value, fields that are not listed above are refused."""
KNOWN_INPUTS = {
    "attention_mask", "cache_params", "cache_position", "logits_to_keep", "past_key_values", "position_ids",
    "tokenizer", "use_cache",
}  # fmt: skip
"""What ``generate`` prepares for its own forward; all but the mask is made again here. And the tokenizer, with which it
reads ``stop_strings``."""


def refuse_unknown(config: GenerationConfig, inputs: dict[str, Any]) -> None:
    """Raise SettingsError for the first option or input that cannot be honoured."""
    for name in sorted(vars(GenerationConfig()).keys() - HONOURED - HARMLESS):
        value, nothing = getattr(config, name, None), NOTHING.get(name)
        if value is not None and value != nothing:
            raise SettingsError(f"{name} is {value!r}; dsbd.generate cannot honour it; leave it out, or set {nothing}")
    for name, value in inputs.items():
        nothing = value is None or (isinstance(value, dict) and not value)  # models of images get {} without one
        if not nothing and name not in KNOWN_INPUTS:
            raise SettingsError(f"{name} is given; dsbd.generate reads only ids and their mask; leave it out")
