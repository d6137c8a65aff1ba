"""A memory for a target: what is learned, and the rows that teach it.

Two stages, as in the paper. In the first a row has two segments and the second one gets the memory of the first (no
recall). In the second stage rows are longer, and a segment recalls from all memories before it. The loss is that of the
last segment only. Gradients go back through the last `BACK_SEGMENTS` segments and no further: earlier ones are read
without a graph. The target's own weights stay; narrow matrices are trained beside them.

*Source:* Hierarchical Memory Transformer, arXiv 2405.06067; docs/memory.md.
"""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parametrize
from transformers import PreTrainedTokenizerBase

from dsbd.bench.tasks import NEEDLE, needle_words
from dsbd.memory.files import LowRank
from dsbd.memory.reading import MemoryNetwork, MemorySettings
from training.corpus import Rows
from training.trainer import Trainer, adam, next_token_loss

RANK, BACK_SEGMENTS, MOST_SEGMENTS = 4, 3, 8
"""The rank of the narrow matrices; how far back gradients reach; segments of a row in the second stage, at most."""
LENGTHS = (24, 64, 120, 224)
"""Tokens of a segment: rows of short segments teach to remember at a tenth of the cost."""
STEP_TOKENS, PLAIN_TOKENS = 2048, 256
"""About how many tokens of segments a step has, and those of a row without a memory."""
ADAPTER_RATE, VECTOR_RATE, MATRIX_RATE = 3e-3, 1e-2, 1e-3
REST_WEIGHT = 0.3
"""How much the other words count beside the one that the row asks for."""
KINDS = {"needle": 0.5, "long": 0.3, "plain": 0.2}
"""Shares of the steps."""


class Added(torch.nn.Module):
    """A pair of narrow matrices beside a weight; their product begins as zero."""

    def __init__(self, weight: torch.Tensor, rank: int) -> None:
        super().__init__()
        outputs, inputs = weight.shape
        self.up = torch.nn.Parameter(torch.zeros(outputs, rank, device=weight.device))
        self.down = torch.nn.Parameter((torch.randn(rank, inputs) / math.sqrt(inputs)).to(weight.device))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the sum, of the weight's type."""
        return weight + (self.up @ self.down).to(weight.dtype)


class MemoryModel(torch.nn.Module):
    """A target, whose weights do not change, with narrow matrices of a rank; and the memory. ``seed`` initialises."""

    def __init__(self, target: Any, settings: MemorySettings, rank: int, seed: int) -> None:
        super().__init__()
        self._target: list[Any] = [target.requires_grad_(False)]  # in a list: its weights are not ours
        head, table = target.get_output_embeddings(), target.get_input_embeddings().weight
        linears = {
            name: module
            for name, module in target.named_modules()
            if isinstance(module, torch.nn.Linear) and module is not head
        }
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = MemoryNetwork(settings)
            for vector in (weight for weight in self.network.parameters() if weight.ndim == 1):
                vector.data = table.float().mean(0).cpu() + 0.02 * torch.randn(len(vector))  # near the mean token
            self.network.to(table.device)
            self.added = torch.nn.ModuleDict(
                {name.replace(".", ":"): Added(linear.weight, rank) for name, linear in linears.items()}
            )
        for linear, added in zip(linears.values(), self.added.values(), strict=True):
            parametrize.register_parametrization(linear, "weight", added)

    def low_ranks(self) -> dict[str, LowRank]:
        """Return {name of a linear layer: what is added to it}."""
        return {
            name.replace(":", "."): LowRank(added.get_parameter("up").detach(), added.get_parameter("down").detach())
            for name, added in self.added.items()
        }

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Return input embeddings (rows, tokens, hidden)."""
        return self._target[0].get_input_embeddings()(ids)

    def states(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states of input embeddings, both (rows, tokens, hidden)."""
        return self._target[0].base_model(inputs_embeds=embedded, use_cache=False).last_hidden_state

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits of hidden states."""
        return self._target[0].get_output_embeddings()(states)

    def read(self, segments: torch.Tensor) -> torch.Tensor:
        """Return (rows, hidden): what the last segment remembers of those before it.

        `segments`: (rows, segments, tokens) ids, the last one included: its first half says what to recall.
        """
        sensory_count, count = self.network.settings.sensory_tokens, segments.shape[1]
        memories = list[torch.Tensor]()
        for number in range(count):
            with nullcontext() if number >= count - BACK_SEGMENTS else torch.no_grad():
                embedded = self.embed(segments[:, number])
                past = torch.stack(memories, dim=1) if memories else embedded[:, :0]
                recalled = self.network.recalled(self.states, embedded, past).memory
                if number == count - 1:
                    break
                sensory = self.embed(segments[:, number - 1, -sensory_count:]) if number else embedded[:, :0]
                memories.append(self.network.remember(self.states, recalled, sensory, embedded))
        return recalled

    def last_segment(self, segments: torch.Tensor, remembered: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the losses of the last segment's tokens (rows, tokens), and the logits before its last token."""
        sensory = segments[:, -2, -self.network.settings.sensory_tokens :]
        ids = torch.cat([sensory, segments[:, -1]], dim=1)
        states = self.states(torch.cat([remembered[:, None], self.embed(ids)], dim=1))[:, sensory.shape[1] :]
        logits = self.logits(states)
        return next_token_loss(logits, torch.cat([ids[:, :1], segments[:, -1]], dim=1)), logits[:, -2]

    def begin_from(self, earlier: dict[str, Any]) -> None:
        """Take what the first stage learned, by name; recall begins with equal weights."""
        self.load_state_dict(earlier, strict=False)
        self.network.summary.data.copy_(self.network.first.data)


class MemoryRows:
    """Draws the rows of a step; its state decides all later ones.

    Somewhere before its last segment a needle row says "The secret animal is a <word>.", and it ends with the same
    sentence. So its last token cannot be known without an earlier segment, and recall has to find which one.
    """

    def __init__(self, documents: list[np.ndarray], tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        self._documents, self._sizes = documents, np.array([len(one) for one in documents])
        self._stream, self.random = Rows(documents, seed), np.random.default_rng(seed)
        self._begin = tokenizer.bos_token_id
        self._newline, self._needle, self._end, *words = (
            list(tokenizer.encode(text, add_special_tokens=False))
            for text in ("\n", NEEDLE, ".\n\n", *(f" {word}" for word in needle_words()))
        )
        self.words = np.array([ids[0] for ids in words if len(ids) == 1], dtype=np.int64)
        """Token ids of the words that are one token, (words,)."""

    def needle(self, rows: int, tokens: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows that tell a word before the `last` tokens and ask at the end; and the words' indices, (rows,)."""
        answers = self.random.integers(len(self.words), size=rows)
        return np.stack([self._needle_row(self.words[answer], tokens, last) for answer in answers]), answers

    def _needle_row(self, word: int, tokens: int, last: int) -> np.ndarray:
        tell, ask = [*self._newline, *self._needle, word, *self._end], [*self._newline, *self._needle, word]
        begin = [] if self._begin is None else [self._begin]
        text = self._stream.take(1, tokens - len(tell) - len(ask) - len(begin))[0]
        text = np.where(text == self._begin, self._newline[0], text) if begin else text
        split = int(self.random.integers(tokens - last - len(tell) - len(begin) + 1))
        return np.concatenate([begin, text[:split], tell, text[split:], ask]).astype(np.int64)

    def long(self, rows: int, tokens: int) -> np.ndarray:
        """Return rows from anywhere in documents that are long enough; else of whatever comes."""
        enough = np.flatnonzero(self._sizes >= tokens)
        if not len(enough):
            return self.plain(rows, tokens)
        chosen = [self._documents[index] for index in self.random.choice(enough, size=rows)]
        starts = [int(self.random.integers(len(document) - tokens + 1)) for document in chosen]
        pieces = [document[start : start + tokens] for document, start in zip(chosen, starts, strict=True)]
        return np.stack(pieces).astype(np.int64)

    def plain(self, rows: int, tokens: int) -> np.ndarray:
        """Return rows of the text, as the target was trained on."""
        return self._stream.take(rows, tokens)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides the next rows."""
        return {"stream": self._stream.state_dict(), "random": self.random.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self._stream.load_state_dict(state["stream"])
        self.random.bit_generator.state = state["random"]


def memory_trainer(model: MemoryModel, rows: MemoryRows, steps: int, *, most_segments: int) -> Trainer:
    """Return what trains a memory with rows of 2 to `most_segments` segments."""

    def loss(progress: float) -> tuple[torch.Tensor, dict[str, float]]:
        kind = str(rows.random.choice([*KINDS], p=[*KINDS.values()]))
        if kind == "plain":
            plain = tensor(rows.plain(STEP_TOKENS // PLAIN_TOKENS, PLAIN_TOKENS))
            value = next_token_loss(model.logits(model.states(model.embed(plain))), plain).mean()
            return value, {"plain": value.item()}
        length = LENGTHS[-1] if kind == "long" else _segment_length(rows.random, progress, most_segments)
        count = int(rows.random.integers(2, most_segments + 1))
        batch = max(2, STEP_TOKENS // (length * min(count, BACK_SEGMENTS)))
        if kind == "long":
            ids, answers = rows.long(batch, length * count), None
        else:
            ids, answers = rows.needle(batch, length * count, length)
        segments = tensor(ids).view(batch, count, length)
        losses, logits = model.last_segment(segments, model.read(segments))
        if answers is None:
            return losses.mean(), {"long": losses.mean().item()}
        right = logits[:, rows.words].argmax(-1) == tensor(answers)
        far = "near" if count <= BACK_SEGMENTS else "far"
        value = losses[:, -1].mean() + REST_WEIGHT * losses[:, :-1].mean()
        return value, {f"right {length} {far}": right.float().mean().item()}

    def tensor(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(model.network.first.device)

    vectors, matrices = ([weight for weight in model.network.parameters() if weight.ndim == axes] for axes in (1, 2))
    groups = [(list(model.added.parameters()), ADAPTER_RATE), (vectors, VECTOR_RATE), (matrices, MATRIX_RATE)]
    return Trainer(loss, {"adam": adam(groups)}, {"model": model, "rows": rows}, steps)


def _segment_length(random: np.random.Generator, progress: float, most_segments: int) -> int:
    """Return the tokens of a segment: in the first stage short ones first, later all."""
    if most_segments > 2:
        return int(random.choice(LENGTHS))
    reached = min(len(LENGTHS), 1 + int(progress * (len(LENGTHS) + 1)))
    return LENGTHS[reached - 1] if random.random() < 0.7 else int(random.choice(LENGTHS[:reached]))
