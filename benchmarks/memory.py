"""What a memory brings, and what it costs: ``python -m benchmarks.memory``.

- A word told in the first segment and asked for in the last one, by the number of segments between them: the share of
  right answers among 64 words.
- Nats per token of held-out sections of books beyond their first 1,024 tokens, paired by section: behind the memory,
  and in the same window without it.
- Nats per token of held-out stories without any memory: what the adapters change where nothing is read.
- Seconds for a token of the prompt, read or simply fed, on a quiet machine.

docs/memory.md has the results.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import numpy as np
import torch
from transformers import AutoTokenizer, DynamicCache, LlamaForCausalLM

from dsbd.memory.files import load_memory
from dsbd.memory.network import MemoryNetwork
from dsbd.models.language_model import LanguageModel
from training.corpus import STORY_PARTS, EncodedDocuments, load_encoded
from training.needle import MemoryRows

DISTANCES = (1, 2, 3, 4, 6, 8, 12)
"""Segments of stories between the word and the question."""
BEYOND = 1024
"""Only tokens of a section behind so many count."""
WIDE = 3
"""Segments of a wide window: what a reader with more room would keep."""
FULL_CONTEXT = 1024
"""Tokens that the target was trained on at once."""
RESAMPLES = 10_000
PLAIN = ("window", "sensory", "wide plain", "full")
"""Ways without a memory."""
ROWS = 20
TIMED = 5


class Contender:
    """A target with or without a memory, computing in batches of equal length."""

    def __init__(self, folder: Path, memory: Path | None) -> None:
        self.model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, trust_remote_code=False).eval()
        self.network: MemoryNetwork | None = None
        if memory is not None:
            self.network = load_memory(memory, self.model, folder.name).network

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Return input embeddings [rows, n, hidden]."""
        found: torch.Tensor = self.model.get_input_embeddings()(ids)
        return found

    def states(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states."""
        found: torch.Tensor = self.model.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
        return found

    def log_probs(self, embedded: torch.Tensor, last: int) -> torch.Tensor:
        """Return log-probabilities [rows, last, vocabulary] after each of the last embeddings."""
        logits = self.states(embedded)[:, -last:] @ self.model.get_input_embeddings().weight.T
        return logits.float().log_softmax(-1)

    def reading(self, segments: torch.Tensor) -> Iterator[torch.Tensor]:
        """Yield what each segment [rows, segments, tokens] remembers of those before it, [rows, hidden]."""
        assert self.network is not None
        kept, memories = self.network.settings.sensory_tokens, list[torch.Tensor]()
        for number in range(segments.shape[1]):
            embedded = self.embed(segments[:, number])
            past = torch.stack(memories, dim=1) if memories else embedded[:, :0]
            recalled = self.network.recalled(self.states, embedded, past).memory
            yield recalled
            if number + 1 < segments.shape[1]:
                sensory = self.embed(segments[:, number - 1, -kept:]) if number else embedded[:, :0]
                memories.append(self.network.remember(self.states, recalled, sensory, embedded))


def needle_share(contender: Contender, rows: MemoryRows, distance: int, length: int, how: str, count: int) -> float:
    """Return the share of right answers.

    ``how``: read (the last segment behind the memory), wide (the last `WIDE` segments behind it), window (the last
    segment alone), or full (the whole prompt).
    """
    right, kept, last = 0, 16, WIDE if how == "wide" else 1
    for _ in range(count // ROWS):
        drawn = rows.needle(ROWS, length * (distance + 1), length * distance)
        segments = torch.from_numpy(drawn.ids).view(ROWS, distance + 1, length)
        front = 0 if how == "full" else length * (distance + 1 - last) - kept
        shown = contender.embed(torch.from_numpy(drawn.ids)[:, front:-1])
        if how in ("read", "wide"):
            remembered = list(contender.reading(segments))[-last]
            shown = torch.cat([remembered[:, None], shown], dim=1)
        assert drawn.answers is not None
        found = contender.log_probs(shown, 1)[:, 0, rows.words].argmax(-1)
        right += int((found == torch.from_numpy(drawn.answers)).sum())
    return right / (count // ROWS * ROWS)


def section_losses(contender: Contender, ids: np.ndarray, length: int, how: str) -> float:
    """Return nats per token of one section beyond `BEYOND`.

    ``how``: read (the segment behind the memory), first (behind m_0, which knows nothing), sensory (behind the k
    tokens before it), window (alone), full (the `FULL_CONTEXT` tokens before the segment's end); wide and wide plain
    (it ends a window of `WIDE` segments, with and without the memory of what comes before).
    """
    kept, count, back = 16, len(ids) // length, (WIDE - 1) * length if "wide" in how else 0
    segments = torch.from_numpy(ids[: count * length].astype(np.int64)).view(1, count, length)
    memories = list(contender.reading(segments)) if how in ("read", "wide") else []
    losses = []
    for number in range(-(-BEYOND // length), count):
        start, end = number * length, (number + 1) * length
        front = {"full": end - FULL_CONTEXT, "window": start - 1}.get(how, start - back - kept)
        tokens = torch.from_numpy(ids[front:end].astype(np.int64))[None]
        shown = contender.embed(tokens[:, :-1])
        if how in ("read", "first", "wide"):
            assert contender.network is not None
            remembered = memories[number - back // length] if memories else contender.network.first[None]
            shown = torch.cat([remembered.to(shown.dtype)[:, None], shown], dim=1)
        found = contender.log_probs(shown, length)
        losses.append(-found.gather(2, tokens[:, -length:, None]).mean().item())
    return float(np.mean(losses))


def paired(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """Return the mean difference, and its 95 % interval by resampling documents."""
    differences = np.array(ours) - np.array(theirs)
    picked = np.random.default_rng(0).integers(len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.percentile(differences[picked].mean(axis=1), [2.5, 97.5])
    return {"mean": float(differences.mean()), "low": float(low), "high": float(high)}


def story_losses(contender: Contender, stories: EncodedDocuments) -> list[float]:
    """Return nats per token of each story, without memory."""
    found = []
    for index in range(len(stories)):
        ids = torch.from_numpy(stories.document(index).astype(np.int64))[None]
        laws = contender.log_probs(contender.embed(ids[:, :-1]), ids.shape[1] - 1)
        found.append(-laws.gather(2, ids[:, 1:, None]).mean().item())
    return found


def reading_seconds(contender: Contender, ids: np.ndarray, length: int) -> dict[str, float]:
    """Return seconds per token of a prompt that is read, and of one that is fed in pieces of a segment; medians."""
    count = len(ids) // length
    segments = torch.from_numpy(ids[: count * length].astype(np.int64)).view(1, count, length)

    target = LanguageModel(contender.model, "target")

    def fed() -> None:
        cache = DynamicCache()
        for number in range(count):
            target.forward(segments[:, number], cache=cache)

    ways = {"read": lambda: list(contender.reading(segments)), "fed": fed}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TIMED + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if turn:
                taken[name].append(time.perf_counter() - began)
    return {name: median(seconds) / (count * length) for name, seconds in taken.items()}


def measure(target: Path, memories: Mapping[str, Path], data: Path, work: Path, count: int) -> dict:
    """Return all figures."""
    tokenizer = AutoTokenizer.from_pretrained(target, trust_remote_code=False)
    held_out = {name: sides[1] for name, sides in load_encoded(data, work, STORY_PARTS, tokenizer).items()}
    plain = Contender(target, None)
    read = {name: Contender(target, folder) for name, folder in memories.items()}
    networks = [one.network for one in read.values() if one.network is not None]
    length = networks[0].settings.segment_tokens

    def needles(contender: Contender, how: str, distances: tuple[int, ...]) -> dict[int, float]:
        made = {}
        for distance in distances:
            rows = MemoryRows(held_out, tokenizer, seed=distance)
            made[distance] = needle_share(contender, rows, distance, length, how, count)
            print(f"needle {how} {distance}: {made[distance]:.3f}", file=sys.stderr)
        return made

    short = tuple(one for one in DISTANCES if (one + 1) * length <= FULL_CONTEXT)
    long = tuple(one for one in DISTANCES if one >= WIDE)
    found: dict = {"needle": {name: needles(one, "read", DISTANCES) for name, one in read.items()}}
    found["needle"] |= {f"{name}, wide": needles(one, "wide", long) for name, one in read.items()}
    found["needle"] |= {"no memory": needles(plain, "window", DISTANCES), "full context": needles(plain, "full", short)}
    books = held_out["books"]
    sections = [books.document(index) for index in range(len(books))]
    sections = [ids for ids in sections if len(ids) // length * length >= BEYOND + length]
    losses = {how: [section_losses(plain, ids, length, how) for ids in sections] for how in PLAIN}
    for name, contender in read.items():
        for how in ("read", "first", "wide", *PLAIN):
            losses[f"{name}, {how}"] = [section_losses(contender, ids, length, how) for ids in sections]
            print(f"books {name} {how}: {np.mean(losses[f'{name}, {how}']):.4f}", file=sys.stderr)
    found["books"] = {name: float(np.mean(values)) for name, values in losses.items()}
    found["sections"] = len(sections)
    found["differences"] = {
        f"{name}, {how} - {other}": paired(losses[f"{name}, {how}"], losses[other])
        for name in read
        for how, others in (
            ("read", (f"{name}, first", f"{name}, sensory", "sensory", "window", "full")),
            ("wide", (f"{name}, wide plain", "wide plain", "full")),
        )
        for other in others
    }
    stories = {name: story_losses(one, held_out["stories"]) for name, one in {"plain": plain, **read}.items()}
    found["stories"] = {name: float(np.mean(values)) for name, values in stories.items()}
    found["story differences"] = {name: paired(values, stories["plain"]) for name, values in stories.items()}
    found["seconds"] = {name: reading_seconds(one, sections[0], length) for name, one in read.items()}
    return found


def main() -> int:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    add = parser.add_argument
    add("--target", type=Path, required=True, help="folder of the target")
    add("--memory", action="append", required=True, metavar="NAME=PATH", help="a memory; several may be compared")
    add("--data", type=Path, required=True, help="folder of the corpora")
    add("--work", type=Path, required=True, help="folder where encoded texts are kept")
    add("--count", type=int, default=200, help="questions at each distance (200)")
    options = parser.parse_args()
    memories = {name: Path(path) for name, _, path in (given.partition("=") for given in options.memory)}
    with torch.inference_mode():
        print(json.dumps(measure(options.target, memories, options.data, options.work, options.count), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
