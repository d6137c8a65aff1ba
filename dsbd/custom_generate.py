"""The decoders of this package behind ``generate`` of transformers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd.decoder import iterations
from dsbd.errors import SettingsError
from dsbd.generation_request import (
    Stops,
    behind_padding,
    eos_ids,
    processors_of,
    prompts_of,
    refuse_unknown,
    room_for,
    settings_of,
    stops_of,
)
from dsbd.law.beams import Node
from dsbd.methods import resolve
from dsbd.models.pair import Pair, make_pair
from dsbd.models.processed import Processor
from dsbd.observer import RunStart
from dsbd.results import DecodedBeam, DecodingResult
from dsbd.session import Snapshot
from dsbd.settings import DecodingSettings

KEPT_ON_MODEL = "_dsbd_pairs"
"""Attribute of a target with its pairs by draft model. It is the target's own, so that both are freed together."""


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
        PairError: the vocabularies differ, or a model is no causal language model or spread over processes.
    """
    config = generation_config if generation_config is not None else model.generation_config
    refuse_unknown(config, inputs)
    asked = settings_of(config, draft_model, draft_depth, draft_width)
    returned = config.num_return_sequences or 1
    if returned > asked.num_beams:
        raise SettingsError(f"num_return_sequences is {returned}; allowed are 1 to num_beams, {asked.num_beams}")
    pair = replace(_pair(model, draft_model), eos=eos_ids(config))
    pair.require_whole("dsbd.generate")
    processors, stops = processors_of(logits_processor), stops_of(stopping_criteria, asked.num_beams)
    prompts = prompts_of(input_ids, inputs.get("attention_mask"), max(asked.num_beams, returned))
    beams = list[tuple[list[int], DecodedBeam]]()
    for padding, prompt in prompts:
        room = room_for(config, stopping_criteria, input_ids.shape[1])
        pair.require_room(len(prompt), room)
        seed = int(torch.randint(2**31, ()).item())
        settings = replace(asked, max_new_tokens=room, seed=seed)
        result = _decode(pair, prompt, settings, behind_padding(padding, processors), stops)
        best = result.beams[:returned]
        beams += [(prompt, beam) for beam in [*best, *[best[-1]] * (returned - len(best))]]
    return _output(beams, input_ids, config)


def _pair(model: Any, draft_model: Any) -> Pair:
    """Return the pair of these models; it is checked once and kept as long as the target lives."""
    known: dict[int, Pair] = model.__dict__.setdefault(KEPT_ON_MODEL, {})
    if id(draft_model) not in known:
        known[id(draft_model)] = make_pair(model, draft_model, _Ids())
    return known[id(draft_model)]


class _Ids:
    """Stands for the tokenizer, which ``generate`` does not have: no text is made."""

    eos_token_id = None

    def decode(self, ids: Sequence[int], **how: Any) -> str:
        return ""


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
