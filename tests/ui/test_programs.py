"""What programs may ask: the examples of docs/programs.md, refusals in sentences, and the tools of the MCP server."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.ui.served import PATIENCE_SECONDS
from tests.visualize.toy import toy_trace
from ui import programs

mcp = pytest.importorskip("mcp")

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.S)
NAME = "toy-story"
META = {"_type": "gradio.FileData"}


@pytest.fixture(scope="module")
def address(mcp_site):
    return f"{mcp_site[1]}/"


@pytest.fixture(scope="module")
def client(address):
    return Client(address, verbose=False)


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("brought") / "trace.json.gz"
    toy_trace().save(path)
    return path


def test_the_examples_of_the_page_run(address, trace_file, monkeypatch, capsys):
    """Catches an example that no longer works, and an endpoint without one."""
    monkeypatch.chdir(trace_file.parent)
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(example.replace("http://127.0.0.1:7860", address), names)
    assert names["drawing"]["content"].startswith("<svg")
    assert names["table"]["content"].startswith("id,parent,layer")
    assert names["own"]["content"] == names["page"].predict(NAME, "text", 0, "en", api_name="/export")["content"]
    info = httpx.get(f"{address}gradio_api/info", timeout=PATIENCE_SECONDS).json()
    used = set(re.findall(r'api_name="(/\w+)"', TEXT))
    assert used == set(info["named_endpoints"])


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("/explain_node", [NAME, 99, 0, "en"], "iteration is 99"),
        ("/explain_node", [NAME, 0, 999, "en"], "node is 999; iteration 0 has the ids"),
        ("/explain_node", [NAME, 0, 0, "xx"], "no strings for language 'xx'"),
        ("/explain_node", [{"url": "/etc/passwd"}, 0, 0, "en"], "trace is a dict"),
        ("/export", [NAME, "exe", 0, "en"], "format is 'exe'; choose among svg"),
    ],
)
def test_refusals_are_sentences(client, name, given, said):
    with pytest.raises(AppError, match=f"(?i){re.escape(said)}"):
        client.predict(*given, api_name=name)


def test_every_node_has_its_sentences():
    """Catches a node that no step is about and that says nothing, and a text that is not the path of the node."""
    trace = toy_trace()
    for node in programs.visualize.scene(trace).iterations[0].nodes:
        told = programs.explained(trace, 0, node.id)
        assert told["sentences"]
        assert node.column == 0 or told["text"].endswith(node.adds)
        assert told["numbers"]["target_prob"] == node.target_prob
    german = programs.explained(trace, 0, node.id, "de")
    assert german["numbers"] == told["numbers"]
    assert german["sentences"] != told["sentences"]


@pytest.mark.parametrize("format", programs.DRAW)
def test_every_format_is_drawn(format):
    assert len(programs.exported(toy_trace(), format)["content"]) > 100


async def _told(address: str, calls: list[tuple[str, dict]]) -> tuple[list, list]:
    """The tools of the server, and the answers to some calls, by a client of the protocol's own package."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        streamable_http_client(f"{address}gradio_api/mcp/") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        return tools, [await session.call_tool(name, given) for name, given in calls]


def told(*given) -> tuple[list, list]:
    """The same, in a separate thread: a browser of another test may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _told(*given)).result()


def test_these_tools_and_no_other(address):
    """Catches an endpoint of the page that a model may call by accident, and a refusal that is no sentence."""
    calls = [
        ("list_traces", {}),
        ("explain_node", {"trace": NAME, "iteration": 0, "node": 3}),
        ("decode", {"prompt": "Once upon", "settings": {"max_new_tokens": 3}}),
        ("decode", {"prompt": "Once", "settings": {"max_new_tokens": 999}}),
        ("evaluate", {"task": "stories", "methods": ["sampling"], "questions": 1, "settings": {"max_new_tokens": 2}}),
        ("export", {"trace": NAME}),
        ("compare", {"prompt": "Once", "methods": ["sampling"]}),
    ]
    tools, answers = told(address, calls)
    assert {tool.name for tool in tools} == set(programs.MCP_TOOLS)
    assert all(tool.description for tool in tools)
    listed, node, decoded, refused, raced, *unknown = answers
    assert NAME in listed.content[0].text
    assert "sentences" in node.content[0].text
    assert "token_ids" in decoded.content[0].text
    assert refused.isError
    assert "999 asked for, 256 allowed" in refused.content[0].text
    assert "tables" in raced.content[0].text
    for answer in unknown:
        assert answer.isError
        assert "Unknown tool" in answer.content[0].text
    schema = httpx.get(f"{address}gradio_api/mcp/schema", timeout=PATIENCE_SECONDS).json()
    assert {tool["name"] for tool in schema} == set(programs.MCP_TOOLS)


def test_a_tool_takes_an_upload(address, trace_file):
    files = {"files": ("mine.json.gz", trace_file.read_bytes())}
    (path,) = httpx.post(f"{address}gradio_api/upload", files=files, timeout=PATIENCE_SECONDS).json()
    _, (answer,) = told(address, [("explain_node", {"trace": {"path": path, "meta": META}, "node": 3})])
    assert "sentences" in answer.content[0].text
