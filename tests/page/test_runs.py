"""Runs: what is refused, who waits, and that none is left behind; the form, its links, and settings of the host."""

import base64
import gzip
import json
import math
import random
import re
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial
from importlib.machinery import ModuleSpec
from itertools import combinations
from types import ModuleType

import gradio as gr
import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from dsbd.bench.task import Question
from dsbd.errors import PageError, SettingsError, StoppedError
from dsbd.settings import FIELDS, METHODS, DecodingSettings
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.command_line import refused, run
from tests.page.conftest import PATIENCE_SECONDS, SHORT, PacedRunner, events, served, toy_pairs, wait_until
from tests.toy_pair import chat_tokenizer, onnx_pair
from visualize.page import form
from visualize.page.comparison import Compared
from visualize.page.earlier import Answer, Sources, _in_both, sources_of
from visualize.page.form import SHOWN, build_control, is_read, read_query, remark_on, settings_of, values_of
from visualize.page.frames import decode_frames
from visualize.page.limits import Limits, check_decode, check_race, is_private, port_of
from visualize.page.page import build_page
from visualize.page.parts import sentence
from visualize.page.race import questions_of, race_frames
from visualize.page.recordings import FOREST, branching_of, examples_of, load_own
from visualize.page.runner import ONE_AT_A_TIME, TITLES, WAITING, Pairs, Runner, StopSignal
from visualize.page.serve import launch_options, pairs_of
from visualize.page.zerogpu import on_gpu

VOCABULARY = 4096
AUTO = {"draft_depth": "auto", "draft_width": "auto", "cover_width": "auto"}


def form_values(**changed) -> list:
    """Return the values of the form as it starts, some of them changed."""
    return list(({name: form.shown_value(name, FIELDS[name].default) for name in SHOWN} | changed).values())


# ---- the limits and settings of the host ------------------------------------------------------------------------

NODES = {"max_width": 3, "draft_width": 4, "draft_depth": 5, "cover_width": 6, "max_new_tokens": 10}
BRANCHES = {"method": "specinfer", "branching": (3, 2), "max_new_tokens": 10, "top_k": 7}


@pytest.mark.parametrize(
    ("settings", "limit", "most", "named"),
    [
        (NODES, "max_beams", 3, "beams"),
        (NODES, "max_draft_depth", 5, "draft_depth"),
        (NODES, "max_draft_width", 4, "nodes of a drafted layer"),
        (NODES, "max_new_tokens", 10, "max_new_tokens"),
        (NODES, "max_nodes", 3 + 5 * (4 + 6), "nodes to score"),
        (NODES, "max_beam_tokens", 3 * 10, "times beams"),
        (NODES, "max_cache_slots", 100 + 3 * 10 + 53, "cache slots"),
        (NODES | {"top_k": 7}, "max_pairs", (5 + 6) * 7, "candidates"),
        (NODES | {"top_k": 0}, "max_pairs", (5 * 4 + 6 * 3) * VOCABULARY, "candidates"),
        (AUTO | {"max_new_tokens": 10}, "max_nodes", 4 + 9 * (6 + 24), "nodes to score"),
        (AUTO | {"max_new_tokens": 10, "min_width": 4, "max_width": 4}, "max_nodes", 4 + 12 * 24, "nodes to score"),
        (BRANCHES, "max_nodes", 1 + 3 + 6, "nodes to score"),
        (BRANCHES, "max_pairs", (1 + 3 + 3) * 7, "candidates"),
    ],
)
def test_what_a_run_needs_is_counted_by_hand(settings, limit, most, named):
    """Catches a part that is left out, extra candidates or the prompt, and a limit that is off by one."""
    settings = DecodingSettings(**settings)
    check_decode(Limits(**{limit: most}), settings, VOCABULARY, 100)
    with pytest.raises(SettingsError, match=f"{named}.*: {most:,} asked for, {most - 1:,} allowed"):
        check_decode(Limits(**{limit: most - 1}), settings, VOCABULARY, 100)


@pytest.mark.parametrize("method", ["dsbd", "beam_sampling"])
def test_what_the_form_can_ask_is_allowed(method):
    """Catches limits that refuse plain work, ``auto`` included, and a form whose sliders are refused together."""
    largest = {"max_new_tokens": 256, "draft_depth": 8, "draft_width": 16, "cover_width": 32, "top_k": 200}
    for changed in ({}, AUTO, {"forest": "coupled", "min_width": 4, "draft_width": 16}, {"num_beams": 16, **largest}):
        values = {name: value for name, value in changed.items() if is_read(method, name)}
        check_decode(Limits(), DecodingSettings(method=method, **values), VOCABULARY, 1000)


def test_a_race_is_bounded_as_a_whole():
    """Catches runs, questions or decoders that do not count."""
    each = [DecodingSettings(method=method, max_new_tokens=100) for method in ("beam_sampling", "greedy")]
    check_race(Limits(), each, 100, 2)
    for changed in ((each * 2, 100, 2), (each, 201, 1), (each, 100, 3)):
        with pytest.raises(SettingsError, match="decodes: "):
            check_race(Limits(), *changed)
    tokens = sum(beams * 100 * 200 for beams in (FIELDS["num_beams"].default, 1))
    check_race(Limits(max_evaluated_tokens=tokens), each, 100, 2)
    with pytest.raises(SettingsError, match=f"times beams of all decodes: {tokens:,} asked for"):
        check_race(Limits(max_evaluated_tokens=tokens - 1), each, 100, 2)
    with pytest.raises(SettingsError, match="runs: 6"):
        check_race(Limits(), each, 1, 6)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DSBD_MAX_NODES": "many"}, "allowed are whole numbers from 1 to 100,000"),
        ({"DSBD_DECODE_SECONDS": "0"}, "allowed are whole numbers from 1 to 86,400"),
        *(({"DSBD_RUNS": value}, "allowed are whole numbers from 1 to 32") for value in ("0", "x", "1000")),
        ({"DSBD_LOG": "loud"}, "allowed are info, warning, off"),
        ({"DSBD_MCP": "perhaps"}, "allowed are 0 and 1"),
        ({"DSBD_FRAME_ANCESTORS": "*; script-src *"}, "write 'none', 'self', * or origins, with spaces between them"),
        ({"DSBD_MAX_NODE": "3"}, "DSBD_MAX_NODE is no setting of the page; the closest is DSBD_MAX_NODES"),
    ],
)
def test_a_wrong_setting_of_the_host_is_named_with_its_range(environment, words):
    """Catches a page that starts with a limit it does not have, and a rule that opens the policy."""
    with pytest.raises(SettingsError, match=re.escape(words)):
        Limits.from_environment(environment)


def test_settings_come_from_the_environment():
    environment = {"DSBD_MAX_NODES": "64", "DSBD_DECODE_SECONDS": "", "DSBD_PAIRS": "x", "HOME": "/"}
    assert Limits.from_environment(environment) == Limits(max_nodes=64)
    assert "huggingface.co" in Limits.from_environment({"SPACE_ID": "me/dsbd"}).frame_ancestors
    assert Limits.from_environment({"SPACE_ID": "me/dsbd", "DSBD_FRAME_ANCESTORS": "none"}).frame_ancestors == "none"
    assert (port_of("80", {}), port_of(None, {"GRADIO_SERVER_PORT": "8000"})) == (80, None)
    for flag, environment in (("0", {}), ("65536", {}), (None, {"GRADIO_SERVER_PORT": "x"})):
        with pytest.raises(SettingsError, match="allowed are whole numbers from 1 to 65,535"):
            port_of(flag, environment)
    assert [is_private(host, False, {}) for host in ("", "[::1]", "localhost", "0.0.0.0")] == [True, True, True, False]
    assert not is_private("127.0.0.1", True, {})
    assert not is_private("127.0.0.1", False, {"GRADIO_ROOT_PATH": "/dsbd"})


def test_the_examples_of_a_hosts_own_pair_open_its_page(tmp_path, capsys):
    """Catches examples that are not the best, buttons alike, and a page that opens without its host's recordings."""
    for role in ("target", "draft"):
        (tmp_path / role).symlink_to(asset_path(f"models/sql/{role}"))
    target, draft, folder = (str(tmp_path / name) for name in ("target", "draft", "examples"))
    asked = {**form.EXAMPLES[form.SQL], "1": "Show the titles of long books not written in German.", "Çok/kısa": "Q"}
    lines = [{"prompt": form.as_prompt(form.SQL, one), "id": id} for id, one in asked.items()]
    questions = [Question(one["id"], one["prompt"]) for one in lines]
    for name, some in (("three", lines[:3]), ("all", lines)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in some))
    command = ["examples", "--target", target, "--draft", draft, "--output", folder, "--prompts"]
    assert "there are 3 prompts; give 4 or more" in refused(capsys, *command, str(tmp_path / "three.jsonl"))
    code, out, _ = run(capsys, *command, str(tmp_path / "all.jsonl"), "--json")
    traces = {one["file"]: Trace.load(tmp_path / "examples" / one["file"]) for one in json.loads(out)["examples"]}
    assert (code, [*traces]) == (0, sorted(file.name for file in (tmp_path / "examples").iterdir()))
    rest = {one.prompt for one in questions} - {one.prompt.text for one in traces.values()}
    ranks = [(branching_of(one) < FOREST, -one.result.stats["layers_per_iteration"]) for one in traces.values()]
    assert ranks == sorted(ranks)
    assert len(rest) == len(questions) - len(traces) == 2
    pairs = toy_pairs(f"{target}+{draft}", "other")
    with pytest.raises(PageError, match="--examples records 'target', and the page offers toy; name it --target"):
        load_own([folder], toy_pairs("toy"))
    pairs.recordings = load_own([folder], pairs)
    opening = next(iter(pairs.recordings))
    assert [*examples_of(pairs, pairs.first).values()] == [one.prompt.text for one in traces.values()]
    assert examples_of(pairs, "other") == form.EXAMPLES["others"]
    runner = Runner(pairs)
    with served(runner, **launch_options(runner, True, [folder])) as address:
        page = httpx.get(address).text
        lent = httpx.get(f"{address}/gradio_api/dsbd/traces/{opening}.json.gz")
    assert re.search(rf"kind\W+show\W+name\W+{re.escape(opening)}\b", page)
    assert json.loads(gzip.decompress(lent.content)) == next(iter(traces.values())).to_dict()
    with pytest.raises(PageError, match=r"--examples names '.*target', a folder without recordings"):
        load_own([folder, target], pairs)
    (tmp_path / "examples" / next(iter(traces))).unlink()
    with pytest.raises(PageError, match=r"has 3 recordings of '.*target'; it takes 4"):
        load_own([folder], pairs)


# ---- the form, its settings and its links -----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_form_settings_and_link_tell_the_same(method):
    """Catches a field that is lost, or shown otherwise than it was set, on the way there and back."""
    wished = {"seed": 7, "max_new_tokens": 12, "num_beams": 3, "top_k": 9, "branching": (3, 2), "forest": "sampled",
             "landing": False, "replacement": False, "temperature": 0.5, "top_p": 0.9}  # fmt: skip
    values_read = {name: value for name, value in wished.items() if is_read(method, name) and name in SHOWN}
    while True:
        try:
            settings = DecodingSettings(method=method, **values_read)
            break
        except SettingsError as error:  # two values that this method does not take together
            values_read.pop(next(name for name in reversed(values_read) if name in str(error)))
    measured = {name: value for name, value in AUTO.items() if method == "dsbd"}
    for one in (DecodingSettings(method=method), settings, DecodingSettings(method=method, **measured)):
        values = values_of(one)
        assert settings_of(method, values, Limits()) == one
        query = {name: str(value).lower() if isinstance(value, bool) else str(value)
                 for name, value in zip(SHOWN, values, strict=True) if is_read(method, name)}  # fmt: skip
        linked = read_query({"prompt": "Once", "method": method, "pair": "toy", "__theme": "dark"} | query, Limits())
        assert linked == ("Once", one, "toy")
    for name in SHOWN:
        build_control(name, settings, Limits())


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"prompt": "x", "seeed": "1"}, "'seeed', which is no field"),
        ({"prompt": " "}, "prompt is blank"),
        ({"prompt": "x" * 20_001}, "prompt has 20,001 characters"),
        ({"seed": "two"}, "seed is 'two'"),
        ({"temperature": "nan"}, "temperature"),
        ({"max_new_tokens": "1e9"}, "256 allowed"),
        ({"method": "magic"}, "method is 'magic'"),
        ({"method": "greedy", "draft_depth": "3"}, "draft_depth, which greedy does not read"),
    ],
)
def test_a_wrong_link_is_refused_by_name(query, words):
    with pytest.raises(Exception, match=re.escape(words)):
        read_query(query, Limits())
    assert read_query({"seeed": "1"}, Limits()) == (None, None, None)


def test_no_folder_of_the_machine_is_told():
    words = "cannot read '/home/me/models/x/config.json' or C:\\Users\\me\\x.bin; see https://x.org/a/b or owner/name"
    assert sentence(PageError(words)) == "Cannot read 'config.json' or x.bin; see https://x.org/a/b or owner/name."
    assert len(sentence(SettingsError("x" * 10_000))) < 700


# ---- one run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "prompt", "method", "changed", "words"),
    [
        ("toy", "", "dsbd", {}, "Prompt is blank"),
        ("toy", None, "dsbd", {}, "Prompt is a NoneType"),
        ("toy", "Once", "dsbd", {"seed": -1}, "Seed is -1"),
        ("toy", "Once", "dsbd", {"seed": None}, "Seed is empty"),
        ("toy", "Once", "dsbd", {"max_new_tokens": 10**9}, "1,000,000,000 asked for, 256 allowed"),
        ("toy", "Once", "dsbd", {"draft_width": 256, "draft_depth": 32}, "Nodes to score per iteration: 8,256 asked"),
        ("toy", "Once", "dsbd", {"max_width": 10**6}, "max_width"),
        ("toy", "Once", ["dsbd"], {}, "Method is"),
        ("toy", "x" * 3000, "dsbd", {"max_new_tokens": 64}, "exceeds the context"),
        ("toy", "\ud800", "dsbd", {}, "not valid Unicode"),
        ("/etc/passwd", "Once", "dsbd", {}, "which this page does not have"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_before_anything_is_built(
    toys, pair, prompt, method, changed, words, monkeypatch
):
    """Catches a monster that fills the memory before a limit is asked, and a message with folders or a traceback."""
    monkeypatch.setattr("visualize.page.runner.DecodeRequest.planning", None)
    if words in ("exceeds the context", "not valid Unicode"):
        monkeypatch.undo()
    frames = list(decode_frames(toys, "me", pair, prompt, method, form_values(**changed)))
    last = frames[-1]
    assert words in last["problem"]
    assert last["problem"].endswith(".</p>")
    assert not {"Traceback", "&lt;", "site-packages"} & set(last["problem"].split())
    assert (last["note"], last["run"]["visible"], last["stop"]["visible"]) == ("", True, False)
    assert toys.running() == (0, None)


def test_a_chat_is_told_and_its_model_is_offered_once_it_is_there(monkeypatch):
    """Catches a prompt that is sent as a chat without a word, and a pair in the form that cannot be loaded."""
    pairs = toy_pairs("toy", "plain")
    pairs._loaded["toy"] = replace(pairs.get("toy"), tokenizer=chat_tokenizer())
    for name in pairs.names:
        frames = list(decode_frames(PacedRunner(pairs), "me", name, "Once", "dsbd", form_values(**SHORT)))
        assert ("Sent as a chat. Decoded just now" in str(frames)) == (name == "toy")
        answers = next(frame["answers"] for frame in frames if "answers" in frame)
        again = str([*decode_frames(PacedRunner(pairs), "me", name, "Why?", "dsbd", form_values(**SHORT), "", answers)])
        assert ("Guessed from earlier answers of this visit, too." in again) == (name == "toy")
    for folder in (None, "folder"):
        monkeypatch.setattr("dsbd.models.smollm2.fetched", lambda folder=folder: folder)
        names = pairs_of(Namespace(target=None, draft=None, pairs=""))
        assert names == list(TITLES)[: 4 if folder else 3]
    assert remark_on(names[-1], "Why is the sky blue?") == ""


def test_a_race_asks_what_its_visitor_chose(toys):
    questions, scorer = questions_of(toys, "bundled:sql", "task", "", 2)
    assert (len(questions), scorer.main_metric != "") == (2, True)
    assert [len(one) for one in questions_of(toys, "bundled:stories", "task", "", 3)[:1]] == [3]
    (first, *_), _ = questions_of(toys, "bundled:sql", "own", "How many?\n\nQ: Who?\nSQL:\nHow many?", 9)
    assert first == "Q: How many?\nSQL:"
    assert questions_of(toys, "toy", "prompt", "Once", 1) == (["Once"], None)
    frames = list(race_frames(toys, "me", "toy", "task", "", 1, ["sampling"], [], 1, 4, *form_values()))
    assert "Measured here" in frames[-1][2], frames[-1]
    assert not [frame for frame in frames if ": ." in str(frame[2])]


def test_a_bug_of_ours_is_said_and_logged(toys, monkeypatch, caplog):
    """Catches a page that waits on after a bug of its own, and one that tells strangers its insides."""
    monkeypatch.setattr(toys.pairs, "check", lambda name: 1 / 0)
    for frames in (
        decode_frames(toys, "me", "toy", "Once", "dsbd", form_values()),
        race_frames(toys, "me", "toy", "prompt", "Once", 1, ["dsbd"], [], 1, 8, *form_values()),
    ):
        (last,) = frames
        assert "failed on the server" in str(last)
        assert "division" not in str(last)
    assert "ZeroDivisionError" in caplog.text


def test_the_time_limit_and_the_stop_signal_end_a_run(toys):
    quick = PacedRunner(toys.pairs, Limits(decode_seconds=1))
    quick.pace = 0.3
    with pytest.raises(StoppedError, match=r"Stopped after 1 s, .*DSBD_DECODE_SECONDS"):
        list(quick.decode("me", "toy", "Once", DecodingSettings(method="sampling", max_new_tokens=100)))
    assert quick.running() == (0, None)
    first, second = StopSignal.new(60), StopSignal.new(60)
    first.revoke()
    assert (first(), first.is_revoked, second(), StopSignal.new(-1)()) == (True, True, False, True)
    first.revoke()
    assert not second()


@pytest.mark.parametrize("is_shared", [False, True])
def test_one_run_uses_models_without_lanes_at_a_time_and_says_so(toys, is_shared):
    """Catches runs beside each other, and one that waits for its turn and begins after its visitor has left."""
    settings = DecodingSettings(**SHORT)
    if is_shared:  # but for a host who does not want it
        pairs = Pairs(["toy"])
        pairs._loaded["toy"] = onnx_pair()
        toys = PacedRunner(pairs, Limits(runs=1))
    first = toys.decode("first", "toy", "Once upon", settings)
    next(first)
    with ThreadPoolExecutor(1) as pool:
        second = toys.decode("second", "toy", "Once", settings)
        assert next(second).doing == ONE_AT_A_TIME + WAITING
        waiting = pool.submit(list, second)
        wait_until(lambda: toys.running()[0] == 2)
        toys.stop("second")
        with pytest.raises(StoppedError, match=r"^Stopped\.$"):
            waiting.result(60)
        waiting = pool.submit(list, toys.decode("third", "toy", "Once", settings))
        time.sleep(0.3)
        assert not waiting.done()
        first.close()
        assert waiting.result(60)[-1].trace.result.token_ids


def endless_comparison(*arguments):
    """A comparison that goes on until it must end."""
    cancel, end = arguments[3], time.monotonic() + 20
    while not cancel():
        assert time.monotonic() < end, "it did not give way"
        time.sleep(0.01)
    yield Compared("beam_sampling", 1, state="stopped")


def test_a_comparison_gives_way_to_a_run_that_waits(toys, monkeypatch):
    """Catches a visitor who waits for seconds of somebody else's comparison."""
    monkeypatch.setattr("visualize.page.runner.measure_speed", endless_comparison)
    settings = DecodingSettings(**SHORT)
    with ThreadPoolExecutor(1) as pool:
        compared = pool.submit(list, toys.decode("first", "toy", "Once upon", settings, compare=True))
        wait_until(lambda: toys.running()[0] == 1)
        assert list(toys.decode("second", "toy", "Once", settings))[-1].trace.result.token_ids
        assert compared.result(60)[-1].beside.state == "stopped"


# ---- guesses from a text that is expected, or an earlier answer -------------------------------------------------


def test_the_cost_of_passes_is_measured_where_nobody_runs_and_gives_way(toys, monkeypatch):
    """Catches a number that a run beside it spoilt, and a visitor who waits until it is there."""
    monkeypatch.setattr("visualize.page.comparison.BUSY", math.inf)
    with toys._signal("somebody"):
        assert toys.costs("me", "toy", "Once") is None
    with monkeypatch.context() as line:
        line.setattr(toys, "waiting", lambda: 1)
        assert toys.costs("me", "toy", "Once") is None
    assert toys.costs("me", "no such pair", "Once") is None
    assert toys.costs("me", "toy", "Once").alone > 0


def test_the_answer_before_is_guessed_where_a_few_words_were_changed():
    """Catches the answer of another pair, one of the same prompt, which would hide what settings do, and a guess for
    what guesses nothing, which would be refused."""
    before = (Answer("toy", "Once upon a time", [1, 2]), Answer("toy", "The cat sat", [3]))
    for pair, prompt, changed, sources in (
        ("toy", "The dog sat", {}, Sources("", [3])),
        ("toy", "The cat sat", {}, Sources("", (), [[1, 2]])),
        ("toy", "The cat sat down", {}, Sources("", (), [[1, 2], [3]])),
        ("other", "The dog sat", {}, Sources()),
        *(("toy", "The dog sat", one, Sources()) for one in ({"method": "mjsd"}, {"draft_depth": 0}, AUTO)),
    ):
        assert sources_of(before, pair, prompt, DecodingSettings(**changed), "") == sources


def shown(runner, prompt: str, *how) -> tuple:
    """Run a prompt; return the trace, what the page says of its guesses, and the answers of the visit."""
    values = form_values(max_new_tokens=12, min_width=2, max_width=2, draft_depth=6, temperature=0)
    frames = list(decode_frames(runner, "me", "toy", prompt, "dsbd", values, *how))
    (last,) = [frame for frame in frames if frame.get("last")]
    return last["last"], json.loads(last["stage"])["guessed"], last["answers"]


def test_what_is_guessed_is_said_changes_no_text_and_is_seen_by_one_visit():
    """Catches a guess that is not handed on or not told, and a decode that looks into another visit's answers."""
    runner = PacedRunner(toy_pairs("toy"))
    plain, nothing, (answer,) = shown(runner, "Once upon a time")
    ids, name = plain.result.token_ids, "an earlier answer of this visit"
    for known, words in ((ids, "all 12 tokens stand;"), ([*ids[:3], 5, *ids[4:]], "11 of 12 tokens stand, 1 was")):
        own = (answer._replace(prompt="Once upon a day", ids=known),)
        trace, guessed, _ = shown(runner, "Once upon a time", "", own)
        assert (trace.result.token_ids, trace.guess) == (ids, [known])
        assert len(trace.iterations) < len(plain.iterations)
        assert (words in guessed["words"], name in guessed["words"]) == (True, True)
        assert [ids[at] for at in guessed["tokens"]] == [one for one in ids if one in known]
        other, none, _ = shown(runner, "Once upon a time", " \n")
        assert (none, len(other.iterations), other.guess) == (nothing, len(plain.iterations), [])
    trace, guessed, _ = shown(runner, "Once upon a time", plain.result.text, (answer,))
    assert (trace.result.token_ids, "the text that you expect" in guessed["words"]) == (ids, True)
    for text, words in ((7, "is a int; give a text"), ("x" * 20_001, "has 20,001 characters"), ("x", "for everybody")):
        (refused,) = decode_frames(runner, "me", "toy", "Once", "dsbd", form_values(forest="auto"), text)
        assert words in refused["problem"]


def test_what_stands_is_the_longest_that_both_have():
    for seed in range(100):
        ids, expected = (random.Random(seed + at).choices(range(3), k=6) for at in (0, 1000))
        parts = [{*combinations(one, size)} for one in (ids, expected) for size in range(7)]
        longest = max(size for size in range(7) if parts[size] & parts[7 + size])
        stands = _in_both(expected, ids)
        assert (len(stands), stands) == (longest, sorted({*stands}))
        assert tuple(ids[at] for at in stands) in parts[7 + longest]


# ---- many visitors ----------------------------------------------------------------------------------------------


def test_frames_are_as_wide_as_the_outputs(toys):
    """A frame one value short would put every value into its neighbour's place; and all runs wait in one line."""
    in_line = [function for function in build_page(copy(toys)).fns.values() if function.concurrency_id == "gpu"]
    assert {function.concurrency_limit for function in in_line} == {Limits().runs}
    assert sorted(len(function.outputs) for function in in_line if function.api_visibility == "private") == [6, 7]


def unpacked(message: str):
    """Return the bulk of a message to the page's script."""
    return json.loads(gzip.decompress(base64.b64decode(json.loads(message)["packed"])))


def strings(value) -> list[str]:
    """Return all texts within a value."""
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in values for text in strings(one)]


def visit(address: str, run: int, number: int, ending: str) -> str:
    """Be a browser tab as the server knows it: join the queue, hear its events; leave as ``ending`` says.

    Returns: how it ended.
    """
    session, prompt, texts = f"visitor{number}", f"Once upon {number:02d}", []
    with httpx.Client(base_url=address, timeout=PATIENCE_SECONDS * 2) as client:
        data = ["toy", prompt, "dsbd", *form_values(seed=number, **SHORT), "", None]
        call = {"fn_index": run, "session_hash": session}
        joined = client.post("/gradio_api/queue/join", json=call | {"data": data}).raise_for_status()
        with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as answer:
            for event in events(answer.iter_lines()):
                if ending == "waiting":
                    return ending
                if event["msg"] == "process_generating" and ending == "closed":
                    return ending
                if event["msg"] == "process_generating" and ending == "cancelled":
                    client.post("/gradio_api/cancel", json=call | {"event_id": joined.json()["event_id"]})
                    return ending
                texts += strings(event.get("output", {}).get("data"))
                if event["msg"] == "process_completed":
                    break
    (first,) = [text for text in dict.fromkeys(texts) if '"kind":"begin"' in text]
    assert unpacked(first)["prompt"]["text"] == prompt, "the run is somebody else's"
    assert "guess" not in unpacked(first), "it looks into an answer to somebody else's prompt, which is like it"
    return "done" if any(text.startswith("Decoded just now") for text in texts) else str(texts)


@pytest.mark.slow
def test_many_visitors_who_leave_in_every_way(toys, toy_page):
    """Catches two runs at one time, a run that goes on without a visitor, and a queue that stands still after it."""
    config = httpx.get(f"{toy_page}/config").json()
    (run,) = [one["id"] for one in config["dependencies"] if one["api_name"] == "run"]
    endings = ["done", "waiting", "closed", "cancelled"] * 8
    random.Random(3).shuffle(endings)
    toys.pace, toys.most = 0.03, 0
    try:
        with ThreadPoolExecutor(32) as pool:
            got = list(pool.map(partial(visit, toy_page, run), range(32), endings))
        assert got == endings
        wait_until(lambda: toys.running()[0] == 0)
        assert toys.most == 1
        health = httpx.get(f"{toy_page}/health")
        assert (health.status_code, health.json()["running"], health.json()["waiting"]) == (200, 0, 0)
        toys.pace = 0.5
        for ending in ("closed", "cancelled"):
            before = toys.steps
            assert visit(toy_page, run, 99, ending) == ending
            wait_until(lambda: toys.running()[0] == 0)
            assert toys.steps - before <= 4, "it ended within an iteration"
    finally:
        toys.pace = 0.0


@pytest.mark.slow
def test_a_comparison_gives_way_to_the_line(toys, toy_page, monkeypatch):
    """Catches a run that waits in the page's line, where the runner does not see it."""
    ends = []

    def compared(*arguments):
        if not ends:
            ends.extend(endless_comparison(*arguments))
        yield from ()

    monkeypatch.setattr("visualize.page.runner.measure_speed", compared)
    config = httpx.get(f"{toy_page}/config").json()
    (run,) = [one["id"] for one in config["dependencies"] if one["api_name"] == "run"]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(partial(visit, toy_page, run), range(2), ["done"] * 2)) == ["done"] * 2
    assert [one.state for one in ends] == ["stopped"]


@pytest.mark.slow
def test_programs_get_what_they_asked_for(toys, toy_page):
    """Catches texts that are mixed up, ``{"error": null}``, and a handler that passes by the queue."""
    client = Client(toy_page, verbose=False)
    alone = {}
    for number in range(4):
        alone[number] = client.predict(f"Once {number}", SHORT | {"seed": number}, api_name="/decode")
        assert alone[number]["token_ids"]
    jobs = {number: client.submit(f"Once {number}", SHORT | {"seed": number}, api_name="/decode") for number in alone}
    for number, job in jobs.items():
        assert job.result()["text"] == alone[number]["text"]
    info = httpx.get(f"{toy_page}/gradio_api/info").json()
    assert set(info["named_endpoints"]) == {"/decode"}
    for arguments, words in (
        (["Once", {"max_new_tokens": 999}], "999 asked for, 256 allowed"),
        (["Once", {"sed": 1}], "sed"),
        (["", {}], "Prompt is blank"),
        ([7, {}], "rompt"),
        (["Once", ["seed"]], "ettings are a list"),
        (["Once", {}, "/etc/passwd"], "which this page does not have"),
    ):
        with pytest.raises(AppError, match=words) as caught:
            client.predict(*arguments, api_name="/decode")
        assert "Traceback" not in str(caught.value)
    assert httpx.post(f"{toy_page}/gradio_api/run/predict", json={"data": [], "fn_index": 0}).status_code != 200
    client.close()


# ---- ZeroGPU ----------------------------------------------------------------------------------------------------


def test_zerogpu_is_asked_for_the_seconds_of_a_run_and_its_words_are_told(toys, monkeypatch):
    """Catches a visitor's minutes that are all taken at once, "internal server error" where they are used up, and a
    Space that has the package too and decodes on one thread for good."""
    monkeypatch.setitem(sys.modules, "spaces", package := ModuleType("spaces"))
    package.__spec__ = ModuleSpec("spaces", None)
    package.GPU = lambda duration: lambda task: task
    assert next(on_gpu(iter)([1])) == 1
    seconds: list[float] = []

    def lent(task, duration, *arguments):
        seconds.append(duration(*arguments))
        if len(seconds) > 2:
            raise gr.Error("You have 3s left")
        yield from task(*arguments)

    package.GPU = lambda duration: lambda task: partial(lent, task, duration)
    runner = PacedRunner(toy_pairs("toy"))
    short = list(runner.decode("me", "toy", "Once", DecodingSettings(**SHORT)))
    assert short[-1].trace.result.token_ids
    (refused,) = list(decode_frames(runner, "me", "toy", "x" * 3000, "dsbd", form_values()))
    assert "exceeds the context" in refused["problem"]
    with pytest.raises(PageError, match="3s left"):
        list(runner.decode("me", "toy", "Once", DecodingSettings(**SHORT)))
    assert seconds[0] < seconds[1] < Limits().decode_seconds
    assert runner.running() == (0, None)
