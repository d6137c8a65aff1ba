"""The decoder in JavaScript beside Python's: with the same tables and seeds both write the same trace; the bundled
pairs give the ids of Python; and a live page decodes in a browser."""

import itertools
import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from playwright.sync_api import expect
from transformers import AutoConfig, AutoTokenizer

import dsbd
import visualize
from dsbd.decoder import iterations
from dsbd.drafts.lookup import Known
from dsbd.methods import resolve
from dsbd.models.engines.onnx_graph import BROWSER, bundled_graph
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import display_name
from dsbd.models.pair import Pair, TokenBytes
from dsbd.models.states.forest import ForestState
from dsbd.session import RunStart
from dsbd.tracing.recorder import Recorder
from dsbd.tracing.trace import Trace
from dsbd.util import BUNDLED_PAIRS, asset_path
from tests.axe import serious
from tests.toy_pair import SPREAD, fitting
from tests.visualize.test_javascript import run_under_node
from tests.visualize.visits import served, visit
from visualize.page.form import as_prompt
from visualize.pages.live import FOLDER as SHARED_FOLDER
from visualize.pages.live import METHODS, live_pair

VOCABULARY, EOS, PROMPT = 6, 5, [3, 1, 2]
NOT_SHARED = {"software", "digest", "phases", "slots_scored", "slots_kept", "kv_peak_slots", "kv_peak_bytes",
              "acceptance_chain"}  # fmt: skip
"""Fields that differ: times; slots, which tables do not have; and quotients of ``chain_S``, which have no digits left
where S is nearly 0. The audit checks them."""
FOLDER = Path(__file__).parent
QUOTIENTS = ("acceptance", "residual_prob", "cdf_")
"""Numbers divided by S, a difference: where S is small it has lost digits."""


class Tokenizer:
    """Writes ids as digits; it cannot read."""

    all_special_ids = (EOS,)

    def convert_ids_to_tokens(self, token: int) -> str:
        return str(token)

    def decode(self, ids: list[int], skip_special_tokens: bool = False, **_: object) -> str:
        return "".join("." if token == EOS else str(token) for token in ids if token != EOS or not skip_special_tokens)


class Slots:
    """A cache that stores nothing."""

    length = peak_bytes = 0

    def reserve(self, slots: int) -> None: ...

    def move(self, start: int, sources: list[int]) -> None:
        self.length = start + len(sources)


class TableState(ForestState):
    """The decoder's row over a table in place of a model: the logits follow from the last two tokens."""

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        self.cache.length += tokens.numel()

    def begin(self, beams, room) -> None:
        super().begin(beams, room)
        self._paths = [(PROMPT[-1], *beam.token_ids()) for beam in beams]

    def forward(self, tokens, parents, sizes) -> torch.Tensor:
        start = len(self._paths) if self._fed else 0
        self._fed += tokens.numel() + (0 if self._fed else len(self._to_recompute))
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            self._paths.append((*self._paths[parent], token))
        self.cache.length = self._prefix_slots + self._tree_slots + self._fed
        self.forwards += 1
        self.peak_slots = max(self.peak_slots, self.cache.length)
        rows = [self.model.model.table[",".join(map(str, path[-2:]))] for path in self._paths[start:]]
        return torch.tensor(rows, dtype=torch.float64)


def tables(seed: int, likeness: float) -> dict[str, Any]:
    """Logits of both models after every two tokens; ``likeness`` pulls the draft's to the target's."""
    source = random.Random(seed)
    ends = [str(last) for last in range(VOCABULARY)]
    keys = [*ends, *(f"{before},{last}" for before, last in itertools.product(ends, ends))]
    target = {key: [source.gauss(0, 1.5) for _ in range(VOCABULARY)] for key in keys}
    draft = {key: [likeness * one + (1 - likeness) * source.gauss(0, 1.5) for one in target[key]] for key in keys}
    return {"target": target, "draft": draft, "eos": [EOS]}


class TableModel(LanguageModel):
    """A table in place of a model."""

    device = torch.device("cpu")

    def new_cache(self, slots: int) -> Any:
        return Slots()


def table_pair(tables: dict[str, Any]) -> Pair:
    models = [
        TableModel(SimpleNamespace(dtype=torch.float64, config=None, table=tables[role]), f"tables/{role}",
                   vocabulary_limit=VOCABULARY)
        for role in ("target", "draft")
    ]  # fmt: skip
    return Pair(*models, Tokenizer(), frozenset(tables["eos"]))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch):
    """Return what makes the trace of a case in Python, as plain data."""
    for module in ("decoder", "session"):
        monkeypatch.setattr(f"dsbd.{module}.state_of", lambda model, start, check: TableState(model, 0, check))
    monkeypatch.setattr("dsbd.draft._noise", noise)

    def run(case: dict[str, Any]) -> dict[str, Any]:
        recorder, settings = Recorder(), dsbd.DecodingSettings.from_dict(case["settings"])
        start = RunStart(table_pair(case["tables"]), case["prompt"]["text"], case["prompt"]["ids"], resolve(settings),
                         known=Known(case.get("guess", [])))  # fmt: skip
        for _ in iterations(start, [recorder]):
            pass
        return recorder.trace().to_dict()

    return run


def noise(races: int, pairs: int, generator: torch.Generator) -> np.ndarray:
    """Draw what ``exponential_`` draws wherever torch does not use the random numbers of the processor's maker."""
    return -torch.log1p(-torch.rand(races, pairs, dtype=torch.float64, generator=generator)).numpy()


def traces_of(cases: list[dict], folder: Path) -> list[dict]:
    """Return the traces that ``under_node.js`` prints. Skips where node is not installed."""
    if shutil.which("node") is None:
        pytest.skip("runs wherever node is installed")
    (folder / "cases.json").write_text(json.dumps(cases))
    command = ["node", str(FOLDER / "under_node.js"), str(folder / "cases.json")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_equal(value: Any, expected: Any, path: str = "trace") -> None:
    """Compare everything but the fields that differ; numbers up to rounding."""
    if isinstance(expected, dict):
        assert value.keys() == expected.keys(), path
        for key in expected:
            if key not in NOT_SHARED and "seconds" not in key and "per_second" not in key:
                assert_equal(value[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(value) == len(expected), path
        for number, (one, other) in enumerate(zip(value, expected, strict=True)):
            assert_equal(one, other, f"{path}.{number}")
    elif isinstance(expected, float) and value is not None:
        tolerance = 1e-6 if any(f".{name}" in path for name in QUOTIENTS) else 1e-9
        assert math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance), (path, value, expected)
    else:
        assert value == expected, (path, value, expected)


def case(seed: int, /, **settings: Any) -> dict[str, Any]:
    every = {"max_new_tokens": 12, "seed": seed} | ({} if settings.get("method") == "greedy" else {"top_k": 0})
    return {"tables": tables(seed, 0.6), "prompt": {"text": "312", "ids": PROMPT}, "settings": every | settings}


GRID = [
    {},
    {"min_width": 2, "max_width": 4, "width_threshold": 0.4},
    {"temperature": 0.0, "forest": "coupled", "replacement": False, "min_width": 3, "max_width": 3},
    {"top_p": 0.7, "top_k": 10, "replacement": False, "temperature": 1.5},
    {"top_p": 0.6, "forest": "coupled", "cover_width": 2, "seed": 2**40 + 7, "min_width": 2, "max_width": 2},
    {"forest": "coupled", "replacement": False, "min_width": 4, "max_width": 4, "draft_width": 9, "top_k": 0},
    {"min_width": 5, "max_width": 5, "temperature": 1.4, "draft_width": 12},
    {"temperature": 1e-3, "seed": 2**32 + 5},
    {"temperature": 1e-3, "replacement": False, "min_width": 3, "draft_width": 3, "seed": 2**53 - 1},
    {"draft_width": 1, "width_threshold": 0.0, "max_new_tokens": 1},
    {"method": "beam_sampling", "replacement": False, "num_beams": 8},
    {"method": "beam_search", "num_beams": 3},
    {"method": "speculative_beam_search", "num_beams": 2, "draft_width": 3, "top_k": 5},
    {"method": "speculative", "temperature": 0.5, "top_k": 4},
    {"method": "sampling"},
    {"method": "greedy"},
]
MET = {"accepted", "rejected", "orphaned", "unneeded", "passed", "landed", "short", "bonus", "finished", "stopped"}
"""Verdicts and outcomes that occur in these decodes."""
START = 5_000
"""The first seed of the random settings. With these no two versions of a text tie up to rounding, which the two
languages may order differently."""


def any_settings(seed: int) -> dict[str, Any]:
    """Return random settings of DSBD, each drawn independently."""
    values = SPREAD | {
        "draft_depth": range(6),
        "draft_width": range(1, 10),
        "min_width": range(1, 5),
        "max_width": [None, 4, 5, 6, 8],
        "width_threshold": [0.1, 0.3, 0.5, 0.7, 0.9],
        "cover_width": [0, 0, 4],
        "temperature": [0.0, 0.3, 1.0, 1.0, 2.5],
        "top_k": [0, 3, 8, 50],
        "length_penalty": [-2.0, 0.5, 1.5],
        "early_stopping": [True, False, "never", None],
        "max_new_tokens": range(1, 21),
    }
    return fitting({name: random.Random(f"{seed} {name}").choice(values[name]) for name in values if name != "seed"})


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.slow)], ids=["few", "many"])
def test_both_languages_write_the_same_trace(seeds: range, decoded, tmp_path: Path) -> None:
    """Catches another distribution, another order of the random numbers, a field that means something else, and a
    digest that Python would not write."""
    cases = [case(seed, **settings) for settings in GRID for seed in seeds]
    random_cases = [case(seed, **any_settings(seed)) for seed in range(START, START + 20 * len(seeds))]
    guesses = [[random.Random(one["settings"]["seed"]).choices(range(VOCABULARY), k=12)] for one in random_cases]
    cases += [*random_cases, *(one | {"guess": guess} for one, guess in zip(random_cases, guesses, strict=True))]
    verdicts = set()
    for case_, trace in zip(cases, traces_of(cases, tmp_path), strict=True):
        expected = decoded(case_)
        del expected["digest"]  # a browser makes none
        assert_equal(trace, expected, str(case_["settings"]))
        for one in (trace, expected):
            assert dsbd.verify_trace(Trace.from_dict(one)).failure is None, case_["settings"]
        assert trace["iterations"]
        verdicts |= {trial["verdict"] for one in trace["iterations"] for trial in one["trials"]}
        verdicts |= {layer["outcome"] for one in trace["iterations"] for layer in one["layers"]}
    assert verdicts >= MET


HOSTILE = (
    "", " ", "  \n\n\t ", "\r\n", "\u0000\u0001\u007f", "\ufeff\ufeff", "\u202eabc\u202c", "e\u0301\u0301\u0301",
    "\u200d\u200b", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\ud7ff\ue000\uffff",
    "\U0010ffff", "<|endoftext|>", "a<|endoftext|>b <|endoftext|", "שלום עולם", "مرحبا بالعالم", "ＦＵＬＬ　ｗｉｄｔｈ",
    "ǅ ß İ ı ſ K",
    "don't I'LL we've he'd it's 'sa 'S ''s", "1234567890 ½ ² Ⅷ ٣", "a" * 3000, " " * 500 + "x", "\n" * 300,
    "na\u00a0ïve\u2003text\u3000", "\u0345\u0600\u180e\u2028\u2029\u0085", "x\u1680y\u205fz", "_-_-_ ... !!?",
)  # fmt: skip


TYPED = ("Who?", " Who?\n", "\n Q: Who?\nSQL: ", "Q", "")


def pair_facts(name: str) -> dict[str, Any]:
    """Return facts of a pair from Python: texts with ids and decoded text, the pieces of all ids, and recordings."""
    target = asset_path("models") / name / "target"
    tokenizer = AutoTokenizer.from_pretrained(target, trust_remote_code=False)
    words = [*HOSTILE, *asset_path("prompts.txt").read_text(encoding="utf-8").split("\n")]
    words += asset_path("tasks/sql/validation.jsonl").read_text(encoding="utf-8").split("\n")[:200]
    ids = [(text, tokenizer(text).input_ids) for text in words]
    every, piece_of = range(len(tokenizer) + 2), TokenBytes(tokenizer).piece
    size = AutoConfig.from_pretrained(target, trust_remote_code=False).vocab_size
    return {
        "eos": [0],
        "record": {"id": display_name(target), "revision": None, "attention": "forest", "vocabulary": size},
        "decodes": decodes(name),
        "texts": [(text, tokens, tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))
                  for text, tokens in ids],
        "pieces": [piece_of(one) for one in every],
        "prompts": [(text, as_prompt(f"bundled:{name}", text)) for text in TYPED],
        "special": [one in tokenizer.all_special_ids for one in every],
    }  # fmt: skip


def decodes(pair: str) -> list[dict[str, Any]]:
    """Return the recordings of a pair: prompt, settings, the ids of every beam, and the slots of every pass."""
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


@pytest.mark.slow
def test_the_pairs_under_node(site, tmp_path):
    """Catches ids or pieces that differ from those of Python, decodes that differ from the recorded ones, and errors
    without a sentence."""
    pairs = {name: pair_facts(name) for name in BUNDLED_PAIRS}
    expected = {"folder": f"{(site / SHARED_FOLDER).as_uri()}/", "pairs": pairs}
    run_under_node([FOLDER / "pair_under_node.js"], expected, tmp_path)


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("name", BUNDLED_PAIRS)
def test_the_graphs_are_those_of_the_builder(name, role):
    """Catches a graph that was not written again after a change; .ci/live/renew writes it."""
    graph = onnx.load(asset_path("models") / name / role / BROWSER, load_external_data=False)
    assert graph == bundled_graph(name, role)


RECORDED = asset_path("traces") / "1-dynamic-width.json.gz"
LESSON = asset_path("lessons") / "1-speculative-decoding.md"
DONE = "in this browser"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a site with a live page, the lessons and the recording that the page opens with."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "traces").mkdir()
    (folder / "traces" / RECORDED.name).write_bytes(RECORDED.read_bytes())
    visualize.export_site(folder / "traces", folder / "site", lessons=asset_path("lessons"), live=True)
    return folder / "site"


def typed(page, prompt: str, **settings) -> None:
    page.fill(".dsbd-live textarea", prompt)
    for label, value in settings.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(str(value))


@pytest.mark.slow
def test_a_live_page_decodes(browser, site):
    """Catches every break between the click and the trace; the form repeats the recording on the page."""
    with served(site) as address, visit(browser, f"{address}/live.html") as seen:
        page = seen.page
        said = page.locator(".dsbd-live-said")
        page.click(".dsbd-live-run")
        page.click(".dsbd-live-run")
        expect(said).to_have_text("Stopped.")
        page.click(".dsbd-live-run")
        expect(said).to_contain_text(DONE, timeout=120_000)
        expect(page.locator(".dsbd-lanes-head")).to_contain_text("passes of the large model instead of")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the trace").click()
        trace = Trace.load(saved.value.path())
        expect(page.locator(".dsbd-live-text")).to_contain_text(trace.result.text.strip())
        report = dsbd.verify_trace(trace)
        assert report.passed, report.failure
        assert trace.result.token_ids == Trace.load(RECORDED).result.token_ids
        assert trace.software["generator"].startswith("mt19937")

        typed(page, "   ")
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("Type a few words first")
        typed(page, "A", Seed=-1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("Seed is -1; allowed are whole numbers from 0 to")
        typed(page, "\u4e9c\u5516" * 1000, Seed=1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("exceeds the context of 2,048 tokens; shorten the prompt or lower New tokens.")
        typed(page, "Once", New_tokens=1500, Seed=1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("so far")
        page.click(".dsbd-live-run")
        expect(said).to_have_text("Stopped.")
        expect(page.get_by_role("button", name="Save the trace")).to_be_hidden()

        page.locator(".dsbd-live select").first.select_option("Questions to SQL")
        expect(page.locator(".dsbd-live textarea")).to_have_value("How many old branches are there in each city?")
        expect(page.get_by_label("Seed", exact=True)).to_have_value("0")
        page.click(".dsbd-live-run")
        expect(said).to_contain_text(DONE, timeout=120_000)
        expect(page.locator(".dsbd-live-text")).to_contain_text("SQL: SELECT city, COUNT(*) FROM branches")
        assert seen.errors == []


@pytest.mark.slow
def test_a_lesson_decodes_and_goes_back(browser, site):
    """Catches a decode that stays when the reader turns to the card before."""
    with served(site) as address:
        last = len(LESSON.read_text(encoding="utf-8").split("\n## "))
        with visit(browser, f"{address}/lessons/{LESSON.stem}.html#card={last}") as seen:
            page, head = seen.page, seen.page.locator(".dsbd-lanes-head")
            recorded = head.text_content()
            page.click(".dsbd-live-run")
            expect(page.locator(".dsbd-live-said")).to_contain_text(DONE, timeout=120_000)
            assert head.text_content() != recorded
            page.click("button.previous")
            expect(head).to_have_text(recorded)
            assert seen.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_a_live_page(browser, site, theme):
    with served(site) as address, visit(browser, f"{address}/live.html", color_scheme=theme) as seen:
        seen.page.get_by_text("More settings").click()
        assert serious(seen.page, ".dsbd-live") == []


@pytest.mark.slow
def test_a_closed_off_frame_says_so(browser, site):
    """Catches the browser's own words for a script that such a frame may not load."""
    (site / "closed.html").write_text('<iframe sandbox="allow-scripts" src="live.html"></iframe>')
    with served(site) as address, visit(browser, f"{address}/closed.html") as seen:
        frame = seen.page.frame_locator("iframe")
        frame.locator(".dsbd-live-run").click()
        expect(frame.locator(".dsbd-live-said")).to_contain_text("open the page in a tab of its own")
