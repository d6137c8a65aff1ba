"""The bundled pairs give Python's ids in JavaScript, and decode as recorded."""

from pathlib import Path

import onnx
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from dsbd.assets import BUNDLED_PAIRS, asset_path
from dsbd.models.engines.onnx_graph import BROWSER, bundled_graph
from dsbd.models.loading import display_name
from tests.visualize.live.live_pair import decodes, tokenizer_says
from tests.visualize.test_javascript import run_under_node
from visualize.pages.live import FOLDER as SHARED
from visualize.pages.live import write_live

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
