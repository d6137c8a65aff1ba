"""What settings of other libraries (transformers, vLLM, the interface of OpenAI) are here."""

_ANSWERS = {
    "max_new_tokens, and the length of the prompt does not count": (
        "max_length max_tokens max_completion_tokens max_output_tokens"
    ),
    "method: sampling or beam_sampling draws, greedy or beam_search does not": "do_sample use_beam_search",
    "result.beams, which has every text; num_beams, or max_width of dsbd, says how many": (
        "num_return_sequences n best_of num_samples"
    ),
    "the draft of load_pair(target, draft) or make_pair": "assistant_model draft_model assistant_tokenizer",
    "draft_depth": "num_assistant_tokens num_speculative_tokens speculative_tokens lookahead gamma",
    "draft_depth, with the draft 'lookup' of load_pair, or draft_model='lookup' of generate": (
        "prompt_lookup_num_tokens max_matching_ngram_size num_matching_ngrams"
    ),
    "draft_depth='auto'": "assistant_confidence_threshold num_assistant_tokens_schedule assistant_early_exit",
    "replacement=False, with which beams differ": "num_beam_groups diversity_penalty",
    "num_beams, or max_width of dsbd": "beam_width beam_size",
    "processors, such as [transformers.RepetitionPenaltyLogitsProcessor(1.2)]": (
        "repetition_penalty no_repeat_ngram_size presence_penalty frequency_penalty "
        "bad_words_ids logit_bias sequence_bias logits_processor logits_processors prefix_allowed_tokens_fn "
        "suppress_tokens begin_suppress_tokens forced_bos_token_id forced_eos_token_id min_length min_new_tokens "
        "min_tokens min_p typical_p exponential_decay_length_penalty"
    ),
    "stop, a text, several, or a function of the update": (
        "stop_strings stop_sequences stop_words stop_token_ids stopping_criteria eos_token_id"
    ),
    "dsbd.stream, which yields update.delta": "streamer",
    "cancel, a function": "max_time timeout",
    "seed": "generator random_seed random_state manual_seed",
    "prompt, which may be what a tokenizer returns": "input_ids inputs attention_mask messages",
    "record=True, whose result.trace has every probability": (
        "return_dict_in_generate output_scores output_logits logprobs top_logprobs"
    ),
}
OTHER_NAMES = {name: answer for answer, names in _ANSWERS.items() for name in names.split()}
"""By a name of theirs: what to take here."""
