"""The decoders of this package behind ``generate`` of transformers."""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import torch
from transformers import GenerationConfig, GenerationMixin
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.generation_request import (
    Stops,
    eos_ids,
    processors_of,
    prompts_of,
    refuse_unknown,
    requested_settings,
    requested_stops,
    returned_of,
    room_for,
)
from dsbd.methods import resolve
from dsbd.models.making import kept_pair
from dsbd.models.pair import Pair
from dsbd.models.rows.row import Processor
from dsbd.observer import RunStart
from dsbd.results import DecodedBeam
from dsbd.snapshot import Snapshot

_READING = "_extract_generation_mode_kwargs"
"""The method in which ``generate`` of transformers collects the arguments of the decoding function."""


def generate(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Sequence[Processor] = (),
    stopping_criteria: Sequence[Any] = (),
    generation_config: GenerationConfig | None = None,
    streamer: Any = None,
    draft_model: Any = ...,
    draft_depth: int = 4,
    draft_width: int | None = None,
    vocabulary_size: int | None = None,
    **inputs: Any,
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    """Decode for ``model.generate(**inputs, custom_generate=dsbd.generate, draft_model=draft, num_beams=4, ...)``.

    With several beams ``do_sample=True`` is DSBD of fixed width ``num_beams`` without replacement: the law of
    ``beam_sampling`` without replacement, so the beams differ. ``do_sample=False`` is ``speculative_beam_search``. With
    one beam they are speculative sampling, and the same at temperature 0; each returned sequence is then a separate
    sample. The models are checked at the first call, and again after their weights changed; both are set to evaluation
    mode.
    The seed comes from torch's global generator, so ``transformers.set_seed`` governs it.

    Args:
        model: the target, on which ``generate`` was called.
        input_ids: [prompts * max(num_beams, num_return_sequences), length], int64; prompts are decoded one by one.
        logits_processor: may look at one sequence each (bad words, n-grams, forced tokens, a grammar, ...); both
            models' logits pass through them before the joint law is made.
        stopping_criteria: with one beam any that reads the ids, its ``scores`` are None; with several, those of
            length, time and EOS.
        generation_config: as ``generate`` prepared it.
        streamer: gets the new tokens of one sequence as they settle, several after an iteration, then the end.
        draft_model: a smaller model with the same tokenizer; None drafts nothing. ``generate`` does not pass on its
            arguments ``assistant_model`` and ``synced_gpus``.
        draft_depth: tokens that the draft looks ahead.
        draft_width: drafts for each of them; None is num_beams + 2, and 1 for one beam.
        vocabulary_size: ids from here on are padding, ``len(tokenizer)``; needed where the draft has fewer ids.
        inputs: what else ``generate`` passes on; the attention mask may hide padding in front.

    Returns:
        ids [prompts * num_return_sequences, longest], prompts as given included, padded on the right; or with
        ``return_dict_in_generate`` an output with ``sequences`` and, of several beams, ``sequences_scores`` (log-weight
        over length ** length_penalty).

    Raises:
        SettingsError: an option cannot be honoured, or no draft model was given; the message names it.
        SettingsError: the law leaves fewer texts than ``num_return_sequences``.
        PairError: the draft has fewer ids than the target, or a model is no causal language model or spread over
            processes.
    """
    config = generation_config if generation_config is not None else model.generation_config
    refuse_unknown(config, inputs)
    if draft_model is ...:
        raise SettingsError(
            "draft_model is not given; give draft_model=draft, as transformers does not pass on assistant_model, or "
            " draft_model=None to draft nothing"
        )
    if streamer is not None and len(input_ids) > 1:
        raise SettingsError(
            f"streamer is given with {len(input_ids)} sequences; one can be streamed: give one prompt, num_beams=1 and "
            f"num_return_sequences=1, or leave streamer out"
        )
    asked = requested_settings(config, draft_model, draft_depth, draft_width)
    returned, samples = returned_of(config)
    pair = replace(kept_pair(model, draft_model), eos=eos_ids(config))
    _require_every_token(pair, vocabulary_size)
    pair.require_whole("dsbd.generate")
    stops = requested_stops(stopping_criteria, asked.num_beams)
    copies = max(asked.num_beams, returned)
    prompts = prompts_of(input_ids, inputs.get("attention_mask"), inputs.get("position_ids"), copies)
    room = room_for(config, stopping_criteria, input_ids.shape[1])
    beams = list[tuple[torch.Tensor, DecodedBeam]]()
    for place, (given, padding) in enumerate(prompts):
        prompt = given[padding:].tolist()
        pair.require_room(len(prompt), room)
        for sample in range(samples):
            processors = processors_of(logits_processor, given[:padding], row=place * copies + sample)
            settings = replace(asked, max_new_tokens=room, seed=int(torch.randint(2**31, ()).item()))
            start = RunStart(pair, "", prompt, resolve(settings), processors)
            text = _Text(given, stops, streamer)
            *_, last = iterations(start, enough=text.enough)
            assert last.result is not None, "the last snapshot carries the result"
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
    return _output(beams, config)


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

    def __init__(self, given: torch.Tensor, stops: Stops, streamer: Any) -> None:
        self._sequence, self._stops, self._streamer = given, stops, streamer
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
            if self._stops.criteria:
                self._sequence = torch.cat([self._sequence, self._sequence.new_tensor([token])])
                self._ended = self._stops.end(self._sequence)

    def enough(self, snapshot: Snapshot) -> bool:
        """Take what is settled; return True if the decode may end there."""
        self.take(snapshot.settled_ids)
        return self._ended or (self._stops.deadline is not None and time.time() > self._stops.deadline)


def _output(
    beams: Sequence[tuple[torch.Tensor, DecodedBeam]], config: GenerationConfig
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    padding = config.pad_token_id if config.pad_token_id is not None else min(eos_ids(config), default=0)
    rows = [torch.cat([given, given.new_tensor(beam.token_ids)]) for given, beam in beams]
    sequences: Any = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    if not config.return_dict_in_generate:
        return sequences
    several = (config.num_beams or 1) > 1
    scores = sequences.new_tensor([beam.score for _, beam in beams], dtype=torch.float32) if several else None
    return GenerateBeamDecoderOnlyOutput(sequences=sequences, sequences_scores=scores)


def _handing_over(own: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a method that also hands ``streamer`` and ``tokenizer`` to :func:`generate`.

    transformers gives them to its own decoding methods only; ``stop_strings`` need the tokenizer. Any other function
    gets what it got before.
    """

    @wraps(own)
    def extracted(*given: Any, **named: Any) -> dict[str, Any]:
        asked = inspect.signature(own).bind(*given, **named).arguments
        function = asked.get("custom_generate")
        handed = {"streamer": asked.get("streamer"), "tokenizer": asked.get("kwargs", {}).get("tokenizer")}
        found = own(*given, **named)
        is_ours = (function.func if isinstance(function, partial) else function) is generate
        return found | {name: value for name, value in handed.items() if is_ours and value is not None}

    return extracted


setattr(GenerationMixin, _READING, _handing_over(getattr(GenerationMixin, _READING)))
