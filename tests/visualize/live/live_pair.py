"""What Python says of the bundled pairs: ids and pieces of their tokenizers, and the decodes that are recorded."""

import random
import unicodedata
from typing import Any

from transformers import AutoTokenizer

from dsbd.assets import asset_path
from dsbd.models.pair import TokenBytes
from dsbd.tracing.trace import Trace
from visualize.pages.live import METHODS, live_pair

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


def tokenizer_says(pair: str, count: int) -> dict[str, Any]:
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


def decodes(pair: str) -> list[dict[str, Any]]:
    """Return what is recorded of a pair: prompt, settings, the ids of every beam, and the slots of every pass."""
    files = [file for folder in ("traces", "lessons/traces") for file in sorted(asset_path(folder).glob("*.json.gz"))]
    traces = {file.name: Trace.load(file) for file in files}
    return [
        {
            "name": name,
            "text": trace.prompt.text,
            "settings": trace.to_dict()["settings"],
            "ids": [beam.token_ids for beam in trace.result.beams],
            "slots": [(one.kept.slots_scored, one.kept.slots_kept) for one in trace.iterations],
        }
        for name, trace in traces.items()
        if trace.settings.method in METHODS and trace.prompt.memory is None
        and trace.models.target.id.startswith("bundled") and live_pair([trace.models.target.id]) == pair
    ]  # fmt: skip
