"""The bundled pairs give Python's ids in JavaScript, and decode as recorded."""

import random
import unicodedata
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from dsbd.models.engines.onnx_graph import BROWSER, bundled_graph
from dsbd.models.loading import display_name
from dsbd.models.pair import TokenBytes
from dsbd.tracing.trace import Trace
from dsbd.util import BUNDLED_PAIRS, asset_path
from tests.visualize.test_javascript import run_under_node
from visualize.pages.live import FOLDER as SHARED
from visualize.pages.live import METHODS, live_pair, write_live

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


FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a folder of shared files."""
    folder = tmp_path_factory.mktemp("site")
    write_live(folder)
    return folder / SHARED


def pair_says(name: str) -> dict:
    target = asset_path("models") / name / "target"
    record = {
        "revision": None,
        "vocabulary": AutoConfig.from_pretrained(target, trust_remote_code=False).vocab_size,
        "attention": "forest",
    }
    record["id"] = display_name(target)
    return {"eos": [0], "record": record, "decodes": decodes(name), **tokenizer_says(name, 2000)}


@pytest.mark.slow
def test_the_pairs_under_node(shared, tmp_path):
    """Catches another id or piece than Python's, another decode than the recorded one, a bad day without a sentence."""
    given = {"folder": f"{shared.as_uri()}/", "pairs": {name: pair_says(name) for name in BUNDLED_PAIRS}}
    run_under_node([FOLDER / "pair_under_node.js"], given, tmp_path)


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("name", BUNDLED_PAIRS)
def test_the_graphs_are_those_of_the_builder(name, role):
    """Catches a graph that was not written again after a change; .ci/live/renew writes it."""
    found = onnx.load(asset_path("models") / name / role / BROWSER, load_external_data=False)
    assert found == bundled_graph(name, role)


def test_every_shared_file_can_be_pushed(shared):
    """Catches files that a Space refuses."""
    sizes = {file.name: file.stat().st_size for file in shared.rglob("*") if file.is_file()}
    assert max(sizes.values()) < 9_000_000


def test_the_graph_reads_the_weights_that_python_reads():
    """Catches a weight of another place or size, or a file that the graph names and that is missing."""
    folder = asset_path("models") / "stories" / "target"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    graph = onnx.load(folder / BROWSER, load_external_data=False).graph
    stored = [tensor for tensor in graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL]
    state = dict(model.named_parameters())
    assert {tensor.name for tensor in stored} == set(state)
    for tensor in stored:
        where = {entry.key: entry.value for entry in tensor.external_data}
        start, size = int(where["offset"]), int(where["length"])
        content = bytearray((folder / where["location"]).read_bytes()[start : start + size])
        assert torch.equal(
            torch.frombuffer(content, dtype=torch.bfloat16).view(*tensor.dims).float(), state[tensor.name]
        )
