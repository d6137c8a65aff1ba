"""The bundled pairs give Python's ids and logits in JavaScript, under node and in a browser."""

import json
from pathlib import Path

import onnx
import pytest
import torch

from dsbd.assets import BUNDLED_PAIRS, asset_path
from dsbd.models.engines.browser_graph import NAME, bundled_graph
from dsbd.models.loading import display_name
from tests.visualize.homes import served
from tests.visualize.live.live_pair import Forest, model_of, tokenizer_says
from tests.visualize.test_javascript import run_under_node
from visualize.pages.live_files import FOLDER as SHARED
from visualize.pages.live_files import write_live
from visualize.viewer.bundle import joined

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a folder of shared files."""
    folder = tmp_path_factory.mktemp("site")
    write_live(folder)
    return folder / SHARED


def pair_says(name: str, texts: int, seeds: int) -> dict:
    model = model_of(name, "draft")
    target = asset_path("models") / name / "target"
    record = {"revision": None, "vocabulary": model.config.vocab_size, "attention": "forest"}
    return {
        "eos": [0],
        "record": record | {"id": display_name(target)},
        "forests": [Forest(model, seed, (1, 2, 40)[seed]).told(4) for seed in range(seeds)],
        **tokenizer_says(name, texts),
    }


@pytest.mark.slow
def test_the_pairs_under_node(shared, tmp_path):
    """Catches another id, piece or logit than Python's, and bad days without a sentence."""
    given = {"folder": f"{shared.as_uri()}/", "pairs": {name: pair_says(name, 2000, 3) for name in BUNDLED_PAIRS}}
    run_under_node([FOLDER / "pair_under_node.js"], given, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED_PAIRS)
def test_the_target_in_a_browser(browser, shared, name):
    """Catches a target whose logits in a worker of the browser are not the model's own."""
    for seed in range(2):
        (shared / f"{seed}.json").write_text(json.dumps(Forest(model_of(name, "target"), seed, 30).told(2)))
    (shared / "replay.js").write_text((FOLDER / "replay.js").read_text())
    (shared / "replaying.js").write_text(joined("live/pair.js") + WORKER.replace("NAME", name))
    (shared / "index.html").write_text("<!doctype html><title>live</title>")
    with served(shared) as address:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        told = page.evaluate(
            """() => new Promise((resolve) => {
                const worker = new Worker("replaying.js", {type: "module"});
                worker.onmessage = ({data}) => resolve(data);
                worker.onerror = ({message}) => resolve(message);
            })"""
        )
        page.close()
    assert isinstance(told, list), told
    assert max(worst for worst in told) < 1e-3


WORKER = """
import {replay} from "./replay.js";

const worst = [];
const {target} = await loadPair(new URL(".", location.href), "NAME");
for (const seed of [0, 1]) worst.push((await replay(target, await (await fetch(`${seed}.json`)).json())).worst);
postMessage(worst);
"""


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("name", BUNDLED_PAIRS)
def test_the_graphs_are_those_of_the_builder(name, role):
    """Catches a graph that was not written again after a change; .ci/live/renew writes it."""
    found = onnx.load(asset_path("models") / name / role / NAME, load_external_data=False)
    assert found == bundled_graph(name, role)


def test_every_shared_file_can_be_pushed(shared):
    """Catches files that a Space refuses."""
    sizes = {file.name: file.stat().st_size for file in shared.rglob("*") if file.is_file()}
    assert max(sizes.values()) < 9_000_000


def test_the_graph_reads_the_weights_that_python_reads():
    """Catches a weight of another place or size, or a file that the graph names and that is missing."""
    folder = asset_path("models") / "stories" / "target"
    model = model_of("stories", "target")
    graph = onnx.load(folder / NAME, load_external_data=False).graph
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
