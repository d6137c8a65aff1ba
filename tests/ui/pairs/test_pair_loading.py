"""Own pairs on the page: what the host allows, what is told before a fetch, the fetch, and every way it can fail."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from ui.engine import Engine
from ui.host.allowed_models import AllowedModels
from ui.host.limits import Limits
from ui.pairs import fetch
from ui.pairs.shelf import PAGE, PairName
from ui.play import pair_loading

from dsbd.errors import PairError
from dsbd.models import hub as models_hub
from dsbd.models.presets import PRESETS
from tests.toy_pair import toy_pair, toy_pair_on

TARGET, DRAFT = "some/target", "some/draft"
KEY = PairName(TARGET, DRAFT).key


def hub_error(kind):
    return kind("no", response=httpx.Response(403, request=httpx.Request("GET", "https://hub.test")))


class Hub:
    """A hub of two models, and what was fetched from it."""

    gated = False
    error = refusal = breaks = None

    def __init__(self):
        self.files = {"config.json": 100, "tokenizer.json": 900, "model.safetensors": 3000, "README.md": 5}
        self.fetched = []
        self.pause = threading.Event()
        self.pause.set()

    def model_info(self, name, files_metadata, timeout):
        if self.error:
            raise self.error
        files = [SimpleNamespace(rfilename=file, size=size) for file, size in self.files.items()]
        return SimpleNamespace(
            siblings=files, sha="abc", gated="auto" if self.gated else False, safetensors=SimpleNamespace(total=1500)
        )

    def auth_check(self, name):
        if self.refusal:
            raise self.refusal

    def download(self, name, file, revision, tqdm_class):
        assert revision == "abc"
        if self.breaks:
            raise self.breaks
        bar = tqdm_class(total=self.files[file], initial=0)
        for _ in range(10):
            self.pause.wait(10)
            bar.update(self.files[file] / 10)
        self.fetched.append((name, file))


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    monkeypatch.setattr(models_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(models_hub, "try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr(fetch, "hf_hub_download", hub.download)
    monkeypatch.setattr(fetch, "try_to_load_from_cache", lambda name, file, revision: None)
    monkeypatch.setattr(pair_loading, "trying", lambda models: iter(()))
    monkeypatch.setattr(fetch, "LOOK_SECONDS", 0.01)
    return hub


def steps(target, draft):
    yield f"loading {target}"
    yield "checking"
    return toy_pair_on("eager")


def engine_of(load=steps, allowed="*"):
    return Engine(toy_pair(), Limits(), load, AllowedModels(allowed))


def test_patterns(tmp_path):
    """Catches a folder that is reached by another way, and a pattern that lets more in than it says."""
    models, other = tmp_path / "models", tmp_path / "other"
    for folder in (models / "one", other):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    allowed = AllowedModels(f"Qwen/*, gpt2,{models}/*")
    assert "Qwen/Qwen3-8B" in allowed
    assert "qwen/Qwen3-8B" not in allowed
    assert "gpt2-xl" not in allowed
    assert str(models / "one") in allowed
    assert str(models / ".." / "other") not in allowed
    assert [one.draft.id for one in allowed.presets()] == ["Qwen/Qwen3-0.6B", "Qwen/Qwen2.5-0.5B"]
    assert allowed.require("gpt2") == "gpt2"
    with pytest.raises(PairError, match=r"does not allow 'other/model'; allowed: Qwen/\*, gpt2,.*own machine"):
        allowed.require("other/model")
    with pytest.raises(PairError, match="neither a folder that exists nor a hub id"):
        AllowedModels("*").require("../nowhere/etc")
    assert not AllowedModels("")


def test_what_a_pair_takes_is_told_before_anything_is_fetched(hub):
    """Catches a table of sizes, licences and gates that nobody sees without a network."""
    last = pair_loading.look(engine_of(), TARGET, DRAFT)
    assert "0.0 MB to fetch" in last.said
    assert "bfloat16" in last.said
    assert last.load["visible"]
    assert hub.fetched == []


def test_from_names_to_a_pair_in_use(hub):
    """Catches bytes that are not counted, a choice that changes before the pair is there, a pair that is not kept."""
    found = fetch.wanted(TARGET)
    assert {file for file, _ in found.files} == {"config.json", "tokenizer.json", "model.safetensors"}
    assert (found.fetch_bytes, found.parameters, list(fetch.fetched(found))[-1]) == (4000, 1500, 4000)
    engine = engine_of()
    frames = list(pair_loading.fetch(engine, "me", TARGET, DRAFT))
    assert frames[-1].fetched == KEY
    assert any("Fetching some/target" in frame.said for frame in frames)
    *before, last = pair_loading.read(engine, "me", KEY)
    assert [frame.said for frame in before] == [
        '<p role="status">Loading some/target …</p>',
        '<p role="status">Checking …</p>',
    ]
    assert last.chosen == last.which["value"] == KEY
    assert engine.pairs.is_loaded(KEY)


def test_cancelling_ends_a_fetch_and_a_load_and_keeps_the_pair(hub):
    """Catches a download that goes on for nobody."""
    engine = engine_of()
    hub.pause.clear()
    frames = pair_loading.fetch(engine, "me", TARGET, DRAFT)
    next(frames)
    next(frames)
    engine.visitors.stop("me")
    last = next(frame for frame in frames if "Cancelled" in frame.said)
    hub.pause.set()
    assert last.fetched == ""
    time.sleep(0.1)
    assert hub.fetched == []
    frames = pair_loading.read(engine, "me", KEY)
    next(frames)
    engine.visitors.stop("me")
    assert "Cancelled" in list(frames)[-1].said
    assert not engine.pairs.is_loaded(KEY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error": hub_error(RepositoryNotFoundError)}, "has no model 'some/target', or it is private"),
        ({"error": httpx.ConnectError("no route")}, "the hub cannot be reached (no route); check the network"),
        ({"gated": True, "refusal": hub_error(GatedRepoError)}, "is gated: accept its licence"),
        ({"files": {"config.json": 1, "pytorch_model.bin": 9}}, "no weights as safetensors; a pickle can run code"),
        ({"files": {"config.json": 1, "model.safetensors": 10**18}}, "make room, or set HF_HOME"),
        ({"breaks": httpx.ReadError("connection reset")}, "connection reset"),
    ],
    ids=["unknown", "no network", "gated", "pickles", "disk", "broken"],
)
def test_every_failure_of_a_fetch_says_the_remedy(hub, change, words):
    """Catches a traceback, a sentence without a remedy, and a page that has lost its pair."""
    for name, value in change.items():
        setattr(hub, name, value)
    engine = engine_of()
    *_, last = pair_loading.fetch(engine, "me", TARGET, DRAFT)
    said = last.said.replace("&#x27;", "'")
    assert words in said
    assert 'role="alert"' in said
    assert last.fetched == ""
    assert list(pair_loading.read(engine, "me", last.fetched)) == []
    assert hub.fetched == []


def test_what_the_host_does_not_allow_is_refused_at_every_step(hub):
    """Catches a program that calls the second step with its key."""
    engine = engine_of(allowed="Qwen/*")
    assert "does not allow" in pair_loading.look(engine, TARGET, DRAFT).said
    assert "does not allow" in list(pair_loading.fetch(engine, "me", TARGET, DRAFT))[-1].said
    assert "does not allow" in list(pair_loading.read(engine, "me", KEY))[-1].said
    for wrong in ("   ", None, "x" * 400):
        assert 'role="alert"' in pair_loading.look(engine, wrong, DRAFT).said
    assert engine.pairs.available()[0] == PAGE


def test_the_table_of_known_pairs_is_the_code_s():
    """Catches a pair, a size or a licence that was changed in one place."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    rows = page.partition("<!-- presets -->\n")[2].partition("<!-- /presets -->")[0].splitlines()[2:]
    for row, one in zip(rows, PRESETS, strict=True):
        sizes = [size * sum(model.parameters for model in one.models) for size in (2, 4)]
        told = [one.draft.id, one.target.id, *(f"{size / 1e9:.1f} GB" for size in sizes)]
        assert row == f"| {' | '.join([*told, one.licences, one.gated, one.vocabulary])} |"
