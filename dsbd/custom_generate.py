"""The decoders of this package behind ``generate`` of transformers.

First its arguments as settings, processors, stops and prompts; what cannot be honoured is refused by name. Then the
function, and what transformers hands to it.
"""

import inspect
import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any

import torch
from transformers import (
    EosTokenCriteria,
    GenerationConfig,
    GenerationMixin,
    LogitNormalization,
    MaxLengthCriteria,
    MaxTimeCriteria,
    PrefixConstrainedLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.methods import resolve
from dsbd.models.making import kept_pair
from dsbd.models.pair import Pair
from dsbd.models.rows.row import Processor
from dsbd.results import DecodedBeam
from dsbd.session import RunStart, Update, functions_of_ids
from dsbd.settings import FIELDS, DecodingSettings, fields_of
from dsbd.tracing.recorder import Recorder

HONOURED = {
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "do_sample", "eos_token_id", "epsilon_cutoff",
    "eta_cutoff", "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
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
    "guidance_scale": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_logits": False,
    "penalty_alpha": 0.0,
    "token_healing": False,
    "use_mtp": False,
}
"""Values besides None that ask for nothing. With any other value, fields that are not listed above are refused."""
OWN = tuple(name for name in FIELDS if name != "method" and not hasattr(GenerationConfig(), name))
"""Settings that a GenerationConfig lacks: they are given by name beside its fields."""
KNOWN_INPUTS = {
    "attention_mask", "cache", "cache_params", "cache_position", "logits_to_keep", "past_key_values", "position_ids",
    "tokenizer", "use_cache",
}  # fmt: skip
"""Inputs that ``generate`` prepares for its own forward: only the mask is used here. It reads ``stop_strings`` with the
tokenizer."""
IN_SETTINGS = (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)
"""Warpers that a config makes, after those of the caller: the settings warp the joint law of all beams once instead."""
NOT_OF_ONE_SEQUENCE = frozenset(
    {
        "EncoderNoRepeatNGramLogitsProcessor",
        "EncoderRepetitionPenaltyLogitsProcessor",
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
"""Processors that are refused: they come after the temperature, read a state or other prompts, or call the model."""


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


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of :data:`OWN` out of arguments; misspelt ones too, to which DecodingSettings has an answer."""
    return {name: given.pop(name) for name in [*given] if get_close_matches(name, OWN, 1, 0.85)}


def requested_settings(config: GenerationConfig, draft_model: Any, own: dict[str, Any]) -> DecodingSettings:
    """Return the method and the settings that have the law of what was asked; ``own`` are of :data:`OWN`."""
    beams, samples = config.num_beams or 1, bool(config.do_sample)
    if draft_model is None:
        several, one = ("beam_sampling", "sampling") if samples else ("beam_search", "greedy")
    else:
        several, one = "dsbd" if samples else "speculative_beam_search", "speculative"
    method = several if beams > 1 else one
    given: dict[str, Any] = {
        "num_beams": beams,
        "min_width": beams,
        "max_width": beams,
        "replacement": False,
        "draft_width": beams + 2,
        "temperature": 0.0,
        "top_k": 0,
        "length_penalty": 1.0 if config.length_penalty is None else config.length_penalty,
    }
    if samples:
        temperature, top_k, top_p = config.temperature, config.top_k, config.top_p
        given |= {"temperature": 1.0 if temperature is None else temperature}
        given |= {"top_k": top_k or 0, "top_p": 1.0 if top_p is None else top_p}
    if "width_threshold" in own:
        given["min_width"] = 1
    read = {one.name for one in fields_of(method)}
    return DecodingSettings(method=method, **{name: value for name, value in given.items() if name in read} | own)


def eos_ids(config: GenerationConfig) -> frozenset[int]:
    """Return the ids that end a text."""
    named = config.eos_token_id
    return frozenset([] if named is None else named if isinstance(named, (list, tuple)) else [named])


def of_the_caller(given: Sequence[Processor], config: GenerationConfig) -> list[Processor]:
    """Return the processors without the warpers that the config made, the last ones of their kind."""
    made = (config.temperature not in (None, 1.0), bool(config.top_k), (config.top_p or 1.0) < 1.0)
    kept = [one for one in given if type(one) is not LogitNormalization]
    for kind, is_made in zip(IN_SETTINGS, made, strict=True):
        if config.do_sample and is_made:
            del kept[max(place for place, one in enumerate(kept) if type(one) is kind)]
    return kept


def processors_of(given: Sequence[Processor], padding: torch.Tensor, row: int) -> tuple[Processor, ...]:
    """Return the processors of one prompt.

    Args:
        given: those of the caller, for the whole batch.
        padding: ids [n] before the prompt; processors see them, as in ``generate``.
        row: the first row of ``generate`` that holds the prompt or the sample.

    Raises:
        SettingsError: a processor is not a function of one sequence.
    """
    kept = list[Processor]()
    for one in given:
        name = type(one).__name__
        if name in NOT_OF_ONE_SEQUENCE:
            raise SettingsError(f"{name} cannot be honoured: it is not a function of one sequence; leave it out")
        if isinstance(one, PrefixConstrainedLogitsProcessor):
            kept.append(_one_by_one(one, row // one._num_beams))
        elif isinstance(one, RepetitionPenaltyLogitsProcessor) and isinstance(one.prompt_ignore_length, torch.Tensor):
            alone = copy(one)  # one number of ignored ids, instead of one for each prompt of the batch
            alone.prompt_ignore_length = padding.numel()
            kept.append(alone)
        else:
            kept.append(one)
    return tuple(_behind(padding, one) for one in kept) if padding.numel() else tuple(kept)


def _one_by_one(constraint: PrefixConstrainedLogitsProcessor, number: int) -> Processor:
    """Return the constraint as a function of any number of sequences of one prompt."""
    allowed = constraint._prefix_allowed_tokens_fn
    return PrefixConstrainedLogitsProcessor(lambda row, ids: allowed(number, ids), 1)


def _behind(padding: torch.Tensor, one: Processor) -> Processor:
    return lambda ids, scores: one(torch.cat([padding.expand(ids.shape[0], -1), ids], dim=1), scores)


def requested_stops(given: Sequence[Any], num_beams: int) -> tuple[float, tuple[Any, ...]]:
    """Return when to stop besides EOS and the length: seconds since the epoch, and criteria of one sequence.

    Raises:
        SettingsError: a criterion of one sequence is given with several beams.
    """
    deadlines = [one.initial_timestamp + one.max_time for one in given if isinstance(one, MaxTimeCriteria)]
    others = tuple(one for one in given if not isinstance(one, (MaxLengthCriteria, MaxTimeCriteria, EosTokenCriteria)))
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
    found = list[tuple[torch.Tensor, int]]()
    for row, shown in zip(ids[::copies], mask[::copies], strict=True):
        padding = int((shown == 0).sum())
        if padding == len(row) or not bool((shown[padding:] == 1).all()):
            raise SettingsError(
                f"attention_mask of prompt {len(found)} is {_shortened(shown.tolist())}; allowed are zeros in front of "
                f"ones: pad with padding_side='left', leave hidden ids out, or give ones if the ids are text"
            )
        found.append((row, padding))
    if positions is not None and positions.dim() == 2:
        counted = (mask.cumsum(1) - 1).clamp(min=0)
        if positions.shape[1] != ids.shape[1] or bool(((positions != counted) & (mask == 1)).any()):
            raise SettingsError("position_ids do not count a prompt's ids from 0; leave position_ids out")
    return found


def _shortened(numbers: list[int]) -> str:
    return str(numbers if len(numbers) <= 12 else [*numbers[:6], ..., *numbers[-6:]]).replace("Ellipsis", "...")


@dataclass
class Output(GenerateBeamDecoderOnlyOutput):
    """What ``generate`` returns with ``return_dict_in_generate``."""

    trace: Any = None
    """With ``record`` the :class:`dsbd.Trace` of the decode; of several prompts or samples a list."""


_READING = "_extract_generation_mode_kwargs"
"""The method in which ``generate`` of transformers collects the arguments of the decoding function."""


def generate(
    model: Any,
    input_ids: Any = None,
    logits_processor: Sequence[Processor] = (),
    stopping_criteria: Sequence[Any] = (),
    generation_config: GenerationConfig | None = None,
    streamer: Any = None,
    draft_model: Any = ...,
    vocabulary_size: int | None = None,
    record: bool = False,
    **inputs: Any,
) -> torch.Tensor | Output:
    """Decode for ``model.generate(**inputs, custom_generate=dsbd.generate, draft_model=draft, num_beams=4, ...)``.

    With several beams ``do_sample=True`` is DSBD of fixed width ``num_beams`` without replacement: the law of
    ``beam_sampling`` without replacement, so the beams differ. ``do_sample=False`` is ``speculative_beam_search``. With
    one beam they are speculative sampling, and the same at temperature 0; each returned sequence is then a separate
    sample. The models are checked at the first call, and again after their weights changed; both are set to evaluation
    mode.
    Without ``seed`` torch's global generator gives it, so ``transformers.set_seed`` governs it; several texts then have
    the seeds ``seed``, ``seed + 1``, ...

    Args:
        model: the target, on which ``generate`` was called.
        input_ids: [prompts * max(num_beams, num_return_sequences), length], int64; prompts are decoded one by one.
        logits_processor: may look at one sequence each (bad words, n-grams, forced tokens, a grammar, ...); both
            models' logits pass through them before the joint law is made.
        stopping_criteria: with one beam any that reads the ids, its ``scores`` are None; with several, those of
            length, time and EOS.
        generation_config: as ``generate`` prepared it.
        streamer: gets the new tokens of one sequence as they settle, several after an iteration, then the end.
        draft_model: a smaller model with the same tokenizer, or ``lookup``; None drafts nothing. ``generate`` does not
            pass on its arguments ``assistant_model`` and ``synced_gpus``.
        vocabulary_size: ids from here on are padding, ``len(tokenizer)``; needed where the draft has fewer ids.
        record: keep a trace, in the output's ``trace``; needs ``return_dict_in_generate`` and ``tokenizer``.
        inputs: settings of :class:`DecodingSettings` that a GenerationConfig lacks, such as ``draft_depth``, or
            ``width_threshold``, with which ``num_beams`` is the largest width; ``draft_width`` is num_beams + 2 if not
            given. And what else ``generate`` passes on; the attention mask may hide padding in front.

    Returns:
        ids [prompts * num_return_sequences, longest], prompts as given included, padded on the right; or with
        ``return_dict_in_generate`` an output with ``sequences`` and, of several beams, ``sequences_scores`` (log-weight
        over length ** length_penalty).

    Raises:
        SettingsError: an option cannot be honoured, no draft model was given, or this was called by hand; the message
            says which, and how.
        SettingsError: the law leaves fewer texts than ``num_return_sequences``.
        PairError: the draft has fewer ids than the target, or a model is no causal language model.
    """
    if generation_config is None:
        raise SettingsError(
            "dsbd.generate is called by transformers: model.generate(input_ids, custom_generate=dsbd.generate, "
            "draft_model=draft); by hand, call dsbd.decode(pair, prompt)"
        )
    config = generation_config
    named = {name: value for name, value in taken(inputs).items() if value is not None}
    refuse_unknown(config, inputs)
    if draft_model is ...:
        raise SettingsError(
            "draft_model is not given; give draft_model=draft, as transformers does not pass on assistant_model, "
            "draft_model='lookup' to copy guesses from the text, or draft_model=None to draft nothing"
        )
    if (own_inputs := "prepare_inputs_for_generation") in vars(model):
        raise SettingsError(
            f"{own_inputs} of this {type(model).__name__} was replaced, as prompt tuning does; dsbd.generate feeds the "
            f"ids alone; give a model without it"
        )
    if streamer is not None and len(input_ids) > 1:
        raise SettingsError(
            f"streamer is given with {len(input_ids)} sequences; one can be streamed: give one prompt, num_beams=1 and "
            f"num_return_sequences=1, or leave streamer out"
        )
    asked = requested_settings(config, draft_model, named)
    own = of_the_caller(logits_processor, config)
    pair = replace(kept_pair(model, draft_model), eos=eos_ids(config))
    _require_every_token(pair, vocabulary_size)
    beams_asked, returned = config.num_beams or 1, config.num_return_sequences or 1
    samples = returned if beams_asked == 1 and config.do_sample else 1
    stops = requested_stops(stopping_criteria, beams_asked)
    if record:
        _require_recordable(config, inputs.get("tokenizer"), own, stops)
        pair = replace(pair, tokenizer=inputs["tokenizer"])
    copies = max(beams_asked, returned)
    prompts = prompts_of(input_ids, inputs.get("attention_mask"), inputs.get("position_ids"), copies)
    room = room_for(config, stopping_criteria, input_ids.shape[1])
    beams, recorders = list[tuple[torch.Tensor, DecodedBeam]](), list[Recorder]()
    for place, (given, padding) in enumerate(prompts):
        prompt = given[padding:].tolist()
        pair.require_ids(prompt, vocabulary_size)
        pair.require_fitting(len(prompt), room)
        for sample in range(samples):
            processors = processors_of(own, given[:padding], row=place * copies + sample)
            number = place * samples + sample
            seed = asked.seed + number if "seed" in named else int(torch.randint(2**31, ()).item())
            settings = resolve(replace(asked, max_new_tokens=room, seed=seed))
            processors = functions_of_ids(processors, settings, several=len(prompts) * samples > 1)
            start = RunStart(pair, pair.detokenize(prompt), prompt, settings, processors)
            recorders += [Recorder()] if record else []
            text = _Text(given, *stops, streamer)
            *_, last = iterations(start, recorders[-1:], enough=text.enough)
            assert last.result is not None, "the last update carries the result"
            text.take(last.result.token_ids)
            best = [replace(last.result.beams[0], token_ids=text.ids), *last.result.beams[1:]][: returned // samples]
            if len(best) * samples < returned:
                raise SettingsError(
                    f"num_return_sequences is {returned}, and the law leaves {len(best)} texts of a prompt; ask for "
                    f"fewer, or cut the law less"
                )
            beams += [(given, beam) for beam in best]
    if streamer is not None:
        streamer.end()
    traces = [recorder.trace() for recorder in recorders]
    return _output(beams, config, traces[0] if len(traces) == 1 else traces or None)


def _require_recordable(
    config: GenerationConfig, tokenizer: Any, processors: Sequence[Processor], stops: tuple[float, tuple[Any, ...]]
) -> None:
    """Check that a trace holds all that decides, and reaches the caller. Raises: SettingsError."""
    reasons = {
        "the trace comes with the output of return_dict_in_generate=True; set it": not config.return_dict_in_generate,
        "a trace has the texts of tokens; give tokenizer=tokenizer": tokenizer is None,
        "a trace does not hold what logits processors did; leave them out": bool(processors),
        "a trace does not hold stopping criteria, stop_strings or max_time; leave them out": stops != (math.inf, ()),
    }
    for reason in (reason for reason, applies in reasons.items() if applies):
        raise SettingsError(f"record is True, and {reason}")


def _require_every_token(pair: Pair, vocabulary_size: int | None) -> None:
    """Check that the draft's vocabulary cuts off no token of the target's. Raises: PairError."""
    if pair.draft is None or pair.target.vocabulary_limit is None:
        return
    whole = int(pair.target.config.vocab_size) if vocabulary_size is None else vocabulary_size
    left = pair.target.vocabulary_size
    if left < whole:
        raise PairError(
            f"{pair.draft.id} has {left} ids and {pair.target.id} {whole}, so the last ids of the target could never "
            f"come; use a draft with the same vocabulary, or give vocabulary_size=len(tokenizer) if they are padding"
        )


class _Text:
    """The new ids that every possible result begins with, up to the first place where a criterion holds.

    ``given`` are the ids [n] of the prompt. Criteria are asked about every new token once, and a streamer gets it once.
    """

    def __init__(self, given: torch.Tensor, deadline: float, criteria: Sequence[Any], streamer: Any) -> None:
        self._sequence, self._deadline, self._criteria, self._streamer = given, deadline, criteria, streamer
        self.ids = list[int]()
        self._ended = False

    def take(self, ids: list[int]) -> None:
        """Take ``ids``, which begin with those that were taken before."""
        for token in ids[len(self.ids) :]:
            if self._ended:
                break
            self.ids.append(token)
            if self._streamer is not None:
                self._streamer.put(torch.tensor([token]))
            if self._criteria:
                self._sequence = torch.cat([self._sequence, self._sequence.new_tensor([token])])
                told = [torch.as_tensor(criterion(self._sequence[None], None)) for criterion in self._criteria]
                self._ended = any(bool(one.all()) for one in told)

    def enough(self, update: Update) -> bool:
        """Take what is settled; return True if the decode may end there."""
        self.take(update.settled_ids)
        return self._ended or time.time() > self._deadline


def _output(
    beams: Sequence[tuple[torch.Tensor, DecodedBeam]], config: GenerationConfig, trace: Any
) -> torch.Tensor | Output:
    padding = config.pad_token_id if config.pad_token_id is not None else min(eos_ids(config), default=0)
    rows = [torch.cat([given, given.new_tensor(beam.token_ids)]) for given, beam in beams]
    sequences: Any = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    if not config.return_dict_in_generate:
        return sequences
    several = (config.num_beams or 1) > 1
    scores = sequences.new_tensor([beam.score for _, beam in beams], dtype=torch.float32) if several else None
    return Output(sequences=sequences, sequences_scores=scores, trace=trace)


def _handing_over(own: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a method that also hands ``streamer``, ``tokenizer`` and :data:`OWN` to :func:`generate`.

    transformers gives the first two to its own decoding methods only, ``stop_strings`` need the tokenizer; and takes
    settings for inputs of the model. Any other function gets what it got before.
    """

    @wraps(own)
    def extracted(*given: Any, **named: Any) -> dict[str, Any]:
        asked = inspect.signature(own).bind(*given, **named).arguments
        function, more = asked.get("custom_generate"), asked.get("kwargs", {})
        if (function.func if isinstance(function, partial) else function) is not generate:
            return own(*given, **named)
        handed = {"streamer": asked.get("streamer"), "tokenizer": more.get("tokenizer")}
        handed |= taken(more)
        return own(*given, **named) | {name: value for name, value in handed.items() if value is not None}

    return extracted


setattr(GenerationMixin, _READING, _handing_over(getattr(GenerationMixin, _READING)))
