"""Trains a memory for a target: ``python -m training.memory``.

Two stages, as in the paper. In the first a row has two segments and the second one gets the memory of the first (no
recall). In the second stage rows are longer, and a segment recalls from all memories before it. The loss is that of the
last segment only. Gradients go back through the last ``BACK_SEGMENTS`` segments and no further: earlier ones are read
without a graph. The target's own weights stay; narrow matrices are trained beside them (`training/adapted.py`).

*Source:* Hierarchical Memory Transformer, arXiv 2405.06067; docs/memory.md.
"""

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoTokenizer, LlamaForCausalLM

from dsbd.memory.files import save_memory
from dsbd.memory.network import MemoryNetwork, MemorySettings
from training.adapted import Adapters
from training.corpus import STORY_PARTS, load_encoded
from training.llama import Forward
from training.needle import MemoryRows
from training.trainer import load_checkpoint, train

BACK_SEGMENTS = 3
LENGTHS = (24, 64, 120, 224)
"""Tokens of a segment: rows of short segments teach to remember at a tenth of the cost."""
STEP_TOKENS = 2048
"""About how many tokens of segments a step has."""
RATES = {"adapters": 3e-3, "vectors": 1e-2, "matrices": 1e-3}
WARMUP_STEPS, DECAY_SHARE, LARGEST_GRADIENT = 50, 0.35, 1.0
REST_WEIGHT = 0.3
"""How much the words around an asked one count, next to it."""
KINDS = {"needle": 0.5, "books": 0.3, "plain": 0.2}
"""Shares of the steps."""
PLAIN_TOKENS = 256


class MemoryModel:
    """The target with its adapters, and the memory; all steps in bfloat16.

    Args:
        target: its weights do not change.
        network: learned.
        rank: of the adapters.
    """

    def __init__(self, target: LlamaForCausalLM, network: MemoryNetwork, rank: int) -> None:
        self.target, self.network = target.requires_grad_(False), network
        self.adapters = Adapters(target, rank)
        self._table = target.model.embed_tokens.weight
        self._forward = Forward(target)
        self._layers: list[Any] = []
        self.fresh()

    def fresh(self) -> None:
        """Take the present adapters: before each step."""
        self._layers = self.adapters.layers()

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Return input embeddings (rows, tokens, hidden)."""
        return functional.embedding(ids, self._table)

    def states(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states of input embeddings, both (rows, tokens, hidden)."""
        return self._forward.states(embedded, self._layers)

    def losses(self, states: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of each next token (rows, tokens), and the last token's logits (rows, vocabulary)."""
        logits = (states @ self._table.T).float()
        loss = functional.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none")
        return loss.view(ids.shape), logits[:, -1]

    def read(self, segments: torch.Tensor) -> torch.Tensor:
        """Return (rows, hidden): what the last segment remembers of those before it.

        ``segments``: (rows, segments, tokens) ids, the last one included: its first half says what to recall.
        """
        kept, count = self.network.settings.sensory_tokens, segments.shape[1]
        memories = list[torch.Tensor]()
        for number in range(count):
            with nullcontext() if number >= count - BACK_SEGMENTS else torch.no_grad():
                embedded = self.embed(segments[:, number])
                past = torch.stack(memories, dim=1) if memories else embedded[:, :0]
                recalled = self.network.recalled(self.states, embedded, past).memory
                if number == count - 1:
                    break
                sensory = self.embed(segments[:, number - 1, -kept:]) if number else embedded[:, :0]
                memories.append(self.network.remember(self.states, recalled, sensory, embedded))
        return recalled

    def last_segment(self, segments: torch.Tensor, remembered: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the losses of the last segment's tokens (rows, tokens), and the last token's logits."""
        kept = self.network.settings.sensory_tokens
        sensory = segments[:, -2, -kept:]
        shown = torch.cat([remembered[:, None], self.embed(torch.cat([sensory, segments[:, -1]], dim=1))], dim=1)
        return self.losses(self.states(shown)[:, sensory.shape[1] : -1], segments[:, -1])


class MemoryTrainer:
    """A memory, its optimizer and its rows, advanced one step at a time."""

    def __init__(self, model: MemoryModel, rows: MemoryRows, seconds: float, *, most_segments: int) -> None:
        self.model, self.step, self.seconds = model, 0, 0.0
        self._rows, self._budget, self._most_segments = rows, seconds, most_segments
        self._random = np.random.default_rng(7)
        named = list(model.network.named_parameters())
        groups = {
            "adapters": list(model.adapters.parameters()),
            "vectors": [weight for _, weight in named if weight.ndim == 1],
            "matrices": [weight for _, weight in named if weight.ndim == 2],
        }
        self._optimizer = torch.optim.AdamW(
            [
                {"params": weights, "lr": RATES[name], "peak": RATES[name]}
                for name, weights in groups.items()
                if weights
            ],
            betas=(0.9, 0.95),
            weight_decay=0.0,
        )

    @property
    def progress(self) -> float:
        """Return the spent share of the seconds, 0 to 1."""
        return min(1.0, self.seconds / self._budget)

    def advance(self) -> dict[str, float]:
        """Take one step; return its figures."""
        began = time.monotonic()
        factor = min(1.0, (self.step + 1) / WARMUP_STEPS)
        factor *= (1 - max(0.0, self.progress - (1 - DECAY_SHARE)) / DECAY_SHARE) ** 0.5
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * factor
        self.model.fresh()
        loss, figures = self._loss(str(self._random.choice([*KINDS], p=[*KINDS.values()])))
        loss.backward()
        weights = [weight for group in self._optimizer.param_groups for weight in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, LARGEST_GRADIENT)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.step += 1
        self.seconds += time.monotonic() - began
        return figures

    def _loss(self, kind: str) -> tuple[torch.Tensor, dict[str, float]]:
        """Return the loss of a step, and its figures."""
        if kind == "plain":
            ids = torch.from_numpy(self._rows.plain(STEP_TOKENS // PLAIN_TOKENS, PLAIN_TOKENS).ids)
            losses, _ = self.model.losses(self.model.states(self.model.embed(ids))[:, :-1], ids[:, 1:])
            return losses.mean(), {"plain": losses.mean().item()}
        length = self._length(kind)
        count = int(self._random.integers(2, self._most_segments + 1))
        rows = max(2, STEP_TOKENS // (length * min(count, BACK_SEGMENTS)))
        whole = length * count
        drawn = self._rows.books(rows, whole) if kind == "books" else self._rows.needle(rows, whole, length)
        segments = torch.from_numpy(drawn.ids).view(rows, count, length)
        losses, logits = self.model.last_segment(segments, self.model.read(segments))
        if drawn.answers is None:
            return losses.mean(), {f"books {length}": losses.mean().item()}
        asked, rest = losses[:, -1].mean(), losses[:, :-1].mean()
        right = logits[:, self._rows.words].argmax(-1) == torch.from_numpy(drawn.answers)
        far = "near" if count <= BACK_SEGMENTS else "far"
        return asked + REST_WEIGHT * rest, {f"right {length} {far}": right.float().mean().item(), "rest": rest.item()}

    def _length(self, kind: str) -> int:
        """Return the tokens of a segment: short ones first, later all."""
        if kind == "books":
            return LENGTHS[-1]
        if self._most_segments == 2:
            reached = min(len(LENGTHS), 1 + int(self.progress * (len(LENGTHS) + 1)))
            return LENGTHS[reached - 1] if self._random.random() < 0.7 else int(self._random.choice(LENGTHS[:reached]))
        return int(self._random.choice(LENGTHS))

    def state(self) -> dict:
        """Return everything that `restore` takes."""
        return {
            "network": self.model.network.state_dict(),
            "adapters": self.model.adapters.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "rows": self._rows.state,
            "random": self._random.bit_generator.state,
            "counts": (self.step, self.seconds),
        }

    def restore(self, saved: dict) -> None:
        """Go on from a `state`."""
        self.model.network.load_state_dict(saved["network"])
        self.model.adapters.load_state_dict(saved["adapters"])
        self._optimizer.load_state_dict(saved["optimizer"])
        self._rows.restore(saved["rows"])
        self._random.bit_generator.state = saved["random"]
        self.step, self.seconds = saved["counts"]


def begin_from(model: MemoryModel, earlier: dict) -> None:
    """Take what the first stage learned; recall begins with equal weights."""
    model.network.load_state_dict(earlier["network"], strict=False)
    model.adapters.load_state_dict(earlier["adapters"])
    if model.network.settings.recall:
        with torch.no_grad():
            model.network.summary.copy_(model.network.first)


def new_memory_model(target: LlamaForCausalLM, settings: MemorySettings, rank: int, seed: int) -> MemoryModel:
    """Return an untrained memory: its embeddings are near the mean token."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = MemoryNetwork(settings)
        mean = target.model.embed_tokens.weight.float().mean(0)
        with torch.no_grad():
            for weight in network.parameters():
                if weight.ndim == 1:
                    weight.copy_(mean + 0.02 * torch.randn_like(mean))
        return MemoryModel(target, network, rank)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(prog="python -m training.memory", description=__doc__)
    add = parser.add_argument
    add("stage", choices=("first", "recall", "flat"), help="first; then recall (HMT) or flat (RMT, for comparison)")
    add("--model", type=Path, required=True, help="folder of the target")
    add("--data", type=Path, required=True, help="folder of the corpora")
    add("--work", type=Path, required=True, help="folder of checkpoints")
    add("--output", type=Path, help="folder of the memory")
    add("--name", default="bundled/target", help="what to call the model in the memory's folder")
    add("--seconds", type=float, default=1200.0)
    add("--rank", type=int, default=4, help="of the adapters")
    add("--most-segments", type=int, default=8, help="of a row in the second stage")
    add("--seed", type=int, default=0)
    add("--threads", type=int, default=2)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Train one stage; return the exit code."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    tokenizer = AutoTokenizer.from_pretrained(options.model, trust_remote_code=False)
    target = LlamaForCausalLM.from_pretrained(options.model, dtype=torch.bfloat16, trust_remote_code=False).eval()
    settings = MemorySettings(target.config.hidden_size, LENGTHS[-1], recall=options.stage == "recall")
    model = new_memory_model(target, settings, options.rank, options.seed)
    checkpoint, first = options.work / f"memory-{options.stage}.pt", options.work / "memory-first.pt"
    if options.stage != "first":
        if not first.exists():
            parser.error(f"--work {options.work} holds no {first.name}: train the first stage first")
        begin_from(model, load_checkpoint(first))
    parts = {name: sides[0] for name, sides in load_encoded(options.data, options.work, STORY_PARTS, tokenizer).items()}
    most = 2 if options.stage == "first" else options.most_segments
    trainer = MemoryTrainer(model, MemoryRows(parts, tokenizer, options.seed), options.seconds, most_segments=most)
    for line in train(trainer, checkpoint, save_every_seconds=120, report_every=50):
        print(line, flush=True)
    if options.output is not None:
        save_memory(options.output, model.network, model.adapters.low_ranks(), target, options.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
