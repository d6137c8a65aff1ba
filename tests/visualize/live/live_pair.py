"""What Python says of the bundled pairs: ids and pieces of their tokenizers, logits of paths in a forest."""

import random
import unicodedata
from functools import cache
from itertools import chain
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dsbd.assets import asset_path
from dsbd.models.pieces import TokenBytes

HOSTILE = (
    "", " ", "  \n\n\t ", "\r\n", "\u0000\u0001\u007f", "\ufeff\ufeff", "\u202eabc\u202c", "e\u0301\u0301\u0301",
    "\u200d\u200b", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\ud7ff\ue000\uffff",
    "\U0010ffff", "<|endoftext|>", "a<|endoftext|>b <|endoftext|", "שלום עולם", "مرحبا بالعالم", "ＦＵＬＬ　ｗｉｄｔｈ",
    "ǅ ß İ ı ſ K",
    "don't I'LL we've he'd it's 'sa 'S ''s", "1234567890 ½ ² Ⅷ ٣", "a" * 3000, " " * 500 + "x", "\n" * 300,
    "na\u00a0ïve\u2003text\u3000", "\u0345\u0600\u180e\u2028\u2029\u0085", "x\u1680y\u205fz", "_-_-_ ... !!?",
)  # fmt: skip
RANGES = (
    (0, 0x7F), (0x80, 0x24F), (0x250, 0x5FF), (0x600, 0x1FFF), (0x2000, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0xFFFF),
    (0x10000, 0x1FFFF), (0x20000, 0x10FFFF), (0x1F300, 0x1FAFF), (0x300, 0x36F), (0x41, 0x7A),
)  # fmt: skip


def texts(count: int) -> list[str]:
    """Return hostile texts, bundled ones, and random ones."""
    chance = random.Random(23)
    words = [*asset_path("prompts.txt").read_text(encoding="utf-8").split("\n"), *HOSTILE]
    words += (asset_path("tasks/sql/validation.jsonl").read_text(encoding="utf-8").split("\n"))[:200]
    spaces = ["", " ", "  ", "\n", "\t", "\u00a0", "'", "'s", "."]
    while len(words) < count:
        parts = [word(chance) + chance.choice(spaces) for _ in range(chance.randint(1, 12))]
        words.append("".join(parts))
    return words


def word(chance: random.Random) -> str:
    """Return characters of one range that this Python's Unicode has: what a later Unicode adds is a letter to some
    runtimes and not to others, so it may be split elsewhere."""
    start, end = chance.choice(RANGES)
    found = (chr(chance.randint(start, end)) for _ in range(chance.randint(1, 9)))
    return "".join(one for one in found if unicodedata.category(one) != "Cn")


@cache
def model_of(pair: str, role: str) -> Any:
    """Return a bundled model in float32."""
    folder = asset_path("models") / pair / role
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False).eval()


def tokenizer_says(pair: str, count: int) -> dict:
    """Return texts with their ids and the text of these, and the pieces of all ids."""
    tokenizer = AutoTokenizer.from_pretrained(asset_path("models") / pair / "target", trust_remote_code=False)
    ids = [(text, tokenizer(text).input_ids) for text in texts(count)]
    decode = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    of_bytes = TokenBytes(tokenizer)
    every = range(len(tokenizer) + 2)
    return {
        "texts": [(text, found, tokenizer.decode(found, **decode)) for text, found in ids],
        "pieces": [of_bytes.piece(one) for one in every],
        "special": [one in tokenizer.all_special_ids for one in every],
    }


class Forest:
    """A random decode: what is fed and committed, with the eager logits of each path."""

    def __init__(self, model: Any, seed: int, prompt: int) -> None:
        self._model, self._chance, self._size = model, random.Random(seed), model.config.vocab_size
        self.prompt = [self._token() for _ in range(prompt)]
        self.nodes: list[tuple[int | None, int, int]] = [(None, self.prompt[-1], 0)]
        self.steps: list[dict] = []
        self._kept = set[int]()
        self._beams = [0]

    def told(self, iterations: int) -> dict:
        """Return the decode as the JavaScript reads it."""
        for number in range(iterations):
            self._iterate(layerwise=number % 2 == 0)
        feeds = sum("feed" in step for step in self.steps)
        calls = feeds + (len(self.prompt) > 1)
        return {"prompt": self.prompt, "nodes": self.nodes, "steps": self.steps, "calls": calls}

    def _token(self) -> int:
        return self._chance.randrange(self._size)

    def _child(self, parent: int) -> int:
        self.nodes.append((parent, self._token(), self.nodes[parent][2] + 1))
        return len(self.nodes) - 1

    def _iterate(self, layerwise: bool) -> None:
        layers = [self._beams]
        for _ in range(3):
            layers.append([self._child(self._chance.choice(layers[-1])) for _ in range(4)])
        unfed = self._child(layers[-1][0])
        layers.append([self._child(unfed)])  # it brings its parent along
        for fed in layers if layerwise else [list(chain(*layers))]:
            self._feed(fed)
        self._beams = [self._child(self._child(node)) for node in self._chance.sample(layers[2] + layers[3], 3)]
        above = {node for beam in self._beams for node in self._path(beam)[:-1]}
        self._kept &= above
        self.steps.append({"commit": self._beams, "slots": len(self.prompt) - 1 + len(self._kept)})

    def _feed(self, nodes: list[int]) -> None:
        self._kept |= {node for fed in nodes for node in self._path(fed)}
        logits = [self._logits(node) for node in nodes]
        self.steps.append({"feed": nodes, "logits": logits, "slots": len(self.prompt) - 1 + len(self._kept)})

    def _path(self, node: int | None) -> list[int]:
        path = []
        while node is not None:
            path.insert(0, node)
            node = self.nodes[node][0]
        return path

    @torch.inference_mode()
    def _logits(self, node: int) -> list[float]:
        tokens = self.prompt + [self.nodes[one][1] for one in self._path(node)[1:]]
        logits = self._model(torch.tensor([tokens])).logits[0, -1]
        return [round(value, 5) for value in logits.tolist()]
