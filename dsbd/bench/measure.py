"""One measured decode of one system: speed, counts, quality; and ``transformers.generate`` as an opponent.

The opponent is used as it is shipped, with temperature, top-k and top-p passed explicitly. Its beam sampling follows
another distribution: it warps each beam before joining, draws twice as many candidates without replacement and keeps
the best scores. Its beam search expands the prompt to one sequence per beam. With an assistant it runs one sequence.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from dsbd.api import READING, decode
from dsbd.bench.systems import System
from dsbd.drafts.history import History
from dsbd.errors import SettingsError
from dsbd.iteration import Iteration
from dsbd.machine import memory_errors, synchronise, without_warnings
from dsbd.models.cache import PACKED
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.next_tokens import token_log_probs
from dsbd.session import Observer
from dsbd.settings import DecodingSettings
from dsbd.util import cancel_check, value_of

_BEAMS = ("hf_beam_sampling", "hf_beam_search")
COPIED = 10
"""Tokens that ``generate`` copies at a time where the pair has no draft model."""


def measure(
    pair: Pair,
    system: System,
    prompt: str,
    seed: int,
    *,
    chat: bool | None = None,
    stop: Sequence[str] = (),
    cancel: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
    history: History | None = None,
) -> dict[str, Any]:
    """Decode once and return what a :class:`~dsbd.bench.records.Run` says of it.

    The clock measures nothing but the call itself. The perplexity of what is returned comes from a
    separate forward of the target. Opponents cannot be stopped, and their beams go on past ``stop``. A prompt beyond
    the context is read into the pair's memory before the clock starts: the methods of a prompt share it.

    Raises:
        StoppedError: ``cancel`` returned True.
    """
    settings, ids = replace(system.settings, seed=seed), pair.encode(prompt, chat)
    with memory_errors(READING):
        window = value_of(pair.used_by(settings).fitting(ids, settings.max_new_tokens, cancel_check(cancel)))
    if system.is_ours:
        options: dict[str, Any] = {
            "stop": stop,
            "observers": observers,
            "chat": chat,
            "cancel": cancel,
            "history": history,
        }
        result, seconds = _clocked(pair, lambda: decode(pair, prompt, settings, **options))
        token_ids = list(result.token_ids)
        names = ("layers", "target_calls", "prefill_seconds", "iterations", "accepted", "rejected", "mean_width",
                 "kv_peak_bytes")  # fmt: skip
        counts = {name: getattr(result.stats, name) for name in names}
    else:
        with as_shipped(pair):
            (token_ids, counts), seconds = _clocked(
                pair, lambda: run_transformers(pair, ids, system.method, settings, stop)
            )
    prefix = None if window.memory is None else window.memory.embedding
    weight, limit = log_likelihood(pair.target, window.ids, token_ids, prefix), settings.max_new_tokens
    return counts | {
        "seed": seed,
        "segments": None if window.memory is None else len(window.memory.segments),
        "text": pair.detokenize(token_ids),
        "ended": "eos" if token_ids[-1] in pair.eos else "limit" if counts["layers"] >= limit else "until",
        "seconds": seconds,
        "prefill_seconds": min(counts["prefill_seconds"], seconds),
        "new_tokens": len(token_ids),
        "perplexity": math.exp(-weight / len(token_ids)),
    }


def _clocked(pair: Pair, call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its seconds."""
    synchronise(pair.device)
    start = time.perf_counter()
    result = call()
    synchronise(pair.device)
    return result, time.perf_counter() - start


@torch.inference_mode()
def log_likelihood(
    model: LanguageModel, prompt_ids: Sequence[int], token_ids: Sequence[int], prefix: torch.Tensor | None = None
) -> float:
    """Return the sum of raw log-probabilities of ``token_ids`` after the prompt, nats, from one separate forward.

    ``prefix`` is the embedding [hidden] of a memory that stands in front of the prompt.
    """
    tokens = torch.tensor([[*prompt_ids, *token_ids]], device=model.device)
    inputs = tokens if prefix is None else model.behind(prefix, tokens)
    logits = model.forward(inputs)[0, -1 - len(token_ids) : -1]
    log_probs = token_log_probs(logits).gather(1, tokens[0, len(prompt_ids) :, None])
    return float(log_probs.double().sum())


@torch.inference_mode()
def run_transformers(
    pair: Pair, prompt_ids: Sequence[int], method: str, settings: DecodingSettings, stop: Sequence[str] = ()
) -> tuple[list[int], dict[str, Any]]:
    """Run ``transformers.generate``; only a method of one sequence stops at one of ``stop``.

    Returns:
        The returned ids, EOS included; and the tokens that they were decoded to, the forwards of the target, the
        seconds until the first of them was over (the prefill), and the bytes of its cache at its largest (None with
        an assistant, which has one, too).

    Raises:
        SettingsError: temperature is 0, which ``generate`` has only as greedy search, or early_stopping is None.
    """
    options: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "pad_token_id": min(pair.eos, default=0)}
    if method == "hf_beam_search":
        options |= {"do_sample": False, "temperature": None, "top_k": None, "top_p": None}
    elif settings.temperature == 0:
        raise SettingsError(f"temperature is 0; {method} samples: give a temperature above 0, or hf_beam_search")
    else:
        warp = {"temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p}
        options |= {"do_sample": True, **warp}
    if method in _BEAMS and settings.early_stopping is None:
        raise SettingsError(f"early_stopping is None; {method} always ends early: give True, False or never")
    if method in _BEAMS:
        options |= {name: getattr(settings, name) for name in ("num_beams", "length_penalty", "early_stopping")}
    elif stop:  # beams go on to their end: which of them is returned may change until then
        options |= {"stop_strings": list(stop), "tokenizer": pair.tokenizer}
    if method == "hf_assisted":
        drafts = [model.model for model in pair.models[1:]]
        options |= {"assistant_model": drafts[0]} if drafts else {"prompt_lookup_num_tokens": COPIED}
    tokens = torch.tensor([list(prompt_ids)], device=pair.device)
    ends, bytes_kept = list[float](), [0]

    def note_end(_: Any, __: Any, output: Any) -> None:
        if not ends:
            synchronise(pair.device)
        ends.append(time.perf_counter())
        layers = getattr(output.past_key_values, "layers", ())
        bytes_kept.append(sum(one.keys.nbytes + one.values.nbytes for one in layers))

    handle = pair.target.model.register_forward_hook(note_end)
    try:
        with torch.random.fork_rng(devices=[pair.device] if pair.device.type == "cuda" else []), without_warnings():
            torch.manual_seed(settings.seed)
            start = time.perf_counter()
            output = pair.target.model.generate(tokens, attention_mask=torch.ones_like(tokens), **options)
    finally:
        handle.remove()
    token_ids = trimmed(output[0, len(prompt_ids) :].tolist(), pair)
    layers = len(token_ids) if method == "hf_assisted" else len(ends)
    peak = None if "assistant_model" in options else max(bytes_kept) or None
    counts = {"target_calls": len(ends), "prefill_seconds": ends[0] - start, "kv_peak_bytes": peak}
    return token_ids, {"layers": layers, **counts}


@contextmanager
def as_shipped(pair: Pair) -> Iterator[None]:
    """Give the models the attention that ``transformers`` would give them, until the end of the block."""
    models = [model.model for model in pair.models]
    ours = [one for one in models if one.config.get_text_config(decoder=True)._attn_implementation == PACKED]
    for model in ours:
        model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        for model in ours:
            model.set_attn_implementation(PACKED)


class _PassTimes(Observer):
    """Notes the seconds of the target's passes over so many tokens."""

    def __init__(self, size: int) -> None:
        self.size, self.seconds = size, list[float]()

    def on_iteration(self, iteration: Iteration) -> None:
        if 1 + len(iteration.scored) == self.size:
            self.seconds.append(iteration.seconds["score"])


def time_passes(
    pair: Pair, prompt: str, sizes: Sequence[int], rounds: int, cancel: Callable[[], bool] | None = None
) -> list[dict[int, float]]:
    """Return the median seconds of a pass of the target over so many tokens, by size, round by round.

    All tokens but the first are guesses, so sizes above 1 need a draft model. The sizes take turns, for one round more:
    the first warms up. A round in which the text ends before a pass of each size is left out.
    Raises: as :func:`dsbd.decode`.
    """
    medians = []
    for _ in range(rounds + 1):
        clocks = [_PassTimes(size) for size in sizes]
        for clock in clocks:
            settings = DecodingSettings(
                method="speculative", draft_depth=clock.size - 1, max_new_tokens=8 + 2 * clock.size
            )
            decode(pair, prompt, settings, observers=[clock], cancel=cancel)
        if all(clock.seconds for clock in clocks):
            medians.append({clock.size: statistics.median(clock.seconds) for clock in clocks})
    return medians[1:]


def trimmed(ids: list[int], pair: Pair) -> list[int]:
    """Cut after the first EOS; what follows is padding."""
    end = next((count for count, token in enumerate(ids, 1) if token in pair.eos), len(ids))
    return ids[:end]
