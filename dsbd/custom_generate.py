"""The decoders of this package behind ``generate`` of transformers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd.decoder import iterations
from dsbd.errors import PairError, SettingsError
from dsbd.generation_options import refuse_unknown
from dsbd.generation_request import (
    Stops,
    eos_ids,
    processors_of,
    prompts_of,
    returned_of,
    room_for,
    settings_of,
    stops_of,
)
from dsbd.law.beams import Node
from dsbd.methods import resolve
from dsbd.models.kept import kept_pair
from dsbd.models.pair import Pair
from dsbd.models.rows.processed import Processor
from dsbd.observer import RunStart
from dsbd.results import DecodedBeam, DecodingResult
from dsbd.session import Snapshot
from dsbd.settings import DecodingSettings


def generate(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Sequence[Processor] = (),
    stopping_criteria: Sequence[Any] = (),
    generation_config: GenerationConfig | None = None,
    draft_model: Any = ...,
    draft_depth: int = 4,
    draft_width: int | None = None,
    vocabulary_size: int | None = None,
    **inputs: Any,
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    """Decode for ``model.generate(**inputs, custom_generate=dsbd.generate, draft_model=draft, num_beams=4, ...)``.

    With several beams ``do_sample=True`` is DSBD of fixed width ``num_beams`` without replacement: the law of
    ``beam_sampling`` without replacement, so the beams differ. ``do_sample=False`` is ``speculative_beam_search``. With
    one beam they are speculative sampling, and the same at temperature 0; each sequence to return is then a sample of
    its own. The models are checked at the first call, and again after their weights changed; both are set to evaluation
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
        draft_model: a smaller model with the same tokenizer; None drafts nothing. ``generate`` keeps its own arguments
            ``assistant_model``, ``streamer``, ``tokenizer`` and ``synced_gpus`` to itself: they never arrive here.
        draft_depth: tokens that the draft looks ahead.
        draft_width: drafts for each of them; None is num_beams + 2, and 1 for one beam.
        vocabulary_size: ids from here on are padding, ``len(tokenizer)``; needed where the draft has fewer ids.
        inputs: what else ``generate`` passes on; of it the attention mask is read.

    Returns:
        ids [prompts * num_return_sequences, longest], prompts included, padded on the right; or with
        ``return_dict_in_generate`` an output with ``sequences`` and ``sequences_scores`` (log-weight over
        length ** length_penalty).

    Raises:
        SettingsError: something was asked that cannot be honoured, or no draft model was named; the message names it.
        SettingsError: the law leaves fewer texts than ``num_return_sequences``.
        PairError: the draft has fewer ids than the target, or a model is no causal language model or spread over
            processes.
    """
    config = generation_config if generation_config is not None else model.generation_config
    refuse_unknown(config, inputs)
    if draft_model is ...:
        raise SettingsError(
            "draft_model is not given; give draft_model=draft, as transformers hands assistant_model to no function of "
            "this kind, or draft_model=None to draft nothing"
        )
    asked = settings_of(config, draft_model, draft_depth, draft_width)
    returned, samples = returned_of(config)
    pair = replace(kept_pair(model, draft_model), eos=eos_ids(config))
    _require_every_token(pair, vocabulary_size)
    pair.require_whole("dsbd.generate")
    stops = stops_of(stopping_criteria, asked.num_beams)
    prompts = prompts_of(input_ids, inputs.get("attention_mask"), max(asked.num_beams, returned))
    room = room_for(config, stopping_criteria, input_ids.shape[1])
    beams = list[tuple[list[int], DecodedBeam]]()
    for padding, prompt in prompts:
        pair.require_room(len(prompt), room)
        for _ in range(samples):
            processors = processors_of(logits_processor, padding, number=len(beams) * samples // returned)
            settings = replace(asked, max_new_tokens=room, seed=int(torch.randint(2**31, ()).item()))
            best = _decode(pair, prompt, settings, processors, stops).beams[: returned // samples]
            if len(best) * samples < returned:
                raise SettingsError(
                    f"num_return_sequences is {returned}, and the law leaves {len(best)} texts of a prompt; ask for "
                    f"fewer, or cut the law less"
                )
            beams += [(prompt, beam) for beam in best]
    return _output(beams, input_ids, config)


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


def _decode(
    pair: Pair, prompt: list[int], asked: DecodingSettings, processors: tuple[Processor, ...], stops: Stops
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


def _enough(stops: Stops, prompt: list[int], device: torch.device) -> Callable[[Snapshot], bool]:
    def enough(snapshot: Snapshot) -> bool:
        if stops.deadline is not None and time.time() > stops.deadline:
            return True
        return stops.first(snapshot.candidates[0].node.token_ids(), prompt, device) is not None

    return enough


def _output(
    beams: Sequence[tuple[list[int], DecodedBeam]], input_ids: torch.Tensor, config: GenerationConfig
) -> torch.Tensor | GenerateBeamDecoderOnlyOutput:
    padding = config.pad_token_id if config.pad_token_id is not None else min(eos_ids(config), default=0)
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
