"""``transformers.generate`` as an opponent, used as it is shipped, with temperature, top-k and top-p passed explicitly.

Its beam sampling follows another law: it warps each beam before joining, draws twice as many pairs without replacement
and keeps the best scores. Its beam search expands the prompt to one row per beam. With an assistant
it runs one sequence.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from dsbd.contest.contenders import Contender
from dsbd.errors import SettingsError
from dsbd.machine import synchronise, without_warnings
from dsbd.models.cache import PACKED
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.util import cut

_BEAMS = ("hf_beam_sampling", "hf_beam_search")


class _Ending(StoppingCriteria):
    """Ends a single sequence once one of ``until`` stands in it.

    Beams go on to their end: which of them is returned may change until then.
    """

    def __init__(self, pair: Pair, prompt_size: int, until: Sequence[str]) -> None:
        self._pair, self._prompt_size, self._until = pair, prompt_size, tuple(until)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **options: Any) -> torch.Tensor:
        ended = False
        if len(input_ids) == 1:
            text = self._pair.decode(input_ids[0, self._prompt_size :].tolist())
            ended = cut(text, self._until) != text
        return torch.full((len(input_ids),), ended, device=input_ids.device)


@torch.inference_mode()
def generate(
    pair: Pair, prompt_ids: Sequence[int], method: str, settings: DecodingSettings, until: Sequence[str] = ()
) -> tuple[list[list[int]], int, int]:
    """Run an opponent; the seed sets torch's global generator, and a method of one sequence stops at one of ``until``.

    Returns:
        The generated ids of each distinct hypothesis, EOS included, the returned one first; the tokens that it was
        decoded to; and the forwards of the target.

    Raises:
        SettingsError: temperature is 0: ``generate`` has it only as greedy search.
    """
    options: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "pad_token_id": min(pair.eos, default=0)}
    if method == "hf_beam_search":
        options |= {"do_sample": False, "temperature": None, "top_k": None, "top_p": None}
    elif settings.temperature == 0:
        raise SettingsError(f"temperature is 0; {method} samples: give a temperature above 0, or hf_beam_search")
    else:
        warp = {"temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p}
        options |= {"do_sample": True, **warp}
    if method in _BEAMS:
        beams = settings.num_beams
        options |= {"num_beams": beams, "num_return_sequences": beams, "length_penalty": settings.length_penalty}
    if method == "hf_assisted":
        assert pair.draft is not None, "checked before anything is measured"
        options["assistant_model"] = pair.draft.model
    tokens = torch.tensor([list(prompt_ids)], device=pair.device)
    if until:
        options["stopping_criteria"] = StoppingCriteriaList([_Ending(pair, len(prompt_ids), until)])
    calls: list[None] = []
    handle = pair.target.model.register_forward_hook(lambda *_: calls.append(None))
    try:
        with torch.random.fork_rng(devices=[pair.device] if pair.device.type == "cuda" else []), without_warnings():
            torch.manual_seed(settings.seed)
            output = pair.target.model.generate(tokens, attention_mask=torch.ones_like(tokens), **options)
    finally:
        handle.remove()
    found = [trimmed(row, pair) for row in output[:, len(prompt_ids) :].tolist()]
    distinct = [list(ids) for ids in dict.fromkeys(map(tuple, found))]
    return distinct, len(found[0]) if method == "hf_assisted" else len(calls), len(calls)


@contextmanager
def as_shipped(pair: Pair) -> Iterator[None]:
    """Give the models the attention that ``transformers`` would give them, until the end of the block."""
    models = [model.model for model in (pair.target, pair.draft) if model is not None]
    ours = [one for one in models if one.config.get_text_config(decoder=True)._attn_implementation == PACKED]
    for model in ours:
        model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        for model in ours:
            model.set_attn_implementation(PACKED)


def time_prefill(pair: Pair, prompt_ids: Sequence[int], contender: Contender) -> float:
    """Time the prompt's forwards: as many rows as the method uses, and the assistant's too."""
    rows = contender.settings.num_beams if contender.method in _BEAMS else 1
    seconds = _forward_seconds(pair.target, prompt_ids, rows)
    if contender.method == "hf_assisted" and pair.draft is not None:
        seconds += _forward_seconds(pair.draft, prompt_ids, 1)
    return seconds


@torch.inference_mode()
def _forward_seconds(model: LanguageModel, prompt_ids: Sequence[int], rows: int) -> float:
    """Time a forward of the prompt without its last token, in ``rows`` equal rows."""
    if len(prompt_ids) < 2:
        return 0.0
    tokens = torch.tensor([list(prompt_ids[:-1])], device=model.device).expand(rows, -1)
    synchronise(model.device)
    start = time.perf_counter()
    model.model(input_ids=tokens, use_cache=True)
    synchronise(model.device)
    return time.perf_counter() - start


def trimmed(ids: list[int], pair: Pair) -> list[int]:
    """Cut after the first EOS; what follows is padding."""
    end = next((place for place, token in enumerate(ids, 1) if token in pair.eos), len(ids))
    return ids[:end]
