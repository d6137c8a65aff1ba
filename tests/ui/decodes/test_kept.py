"""What is kept and shared: the decodes of a visit, links, and lines of Python."""

from dataclasses import replace
from urllib.parse import parse_qsl

import gradio as gr
import pytest
from ui.asked.form import FIELDS, settings_of, values_of
from ui.asked.link import pair_key, pair_name, query_of, read_query
from ui.decodes.python_lines import python_lines
from ui.decodes.recording import Recording
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE, PairShelf
from ui.play.play_form import updates

import dsbd
from dsbd.errors import DsbdError
from dsbd.methods import resolve
from dsbd.tracing.trace import Trace
from tests.toy_pair import read_settings, toy_pair
from ui.decodes import history
from ui.play import shown

SETTINGS = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=2, draft_width=3, top_k=0, temperature=0.5, seed=9)


@pytest.fixture(scope="module")
def ran() -> Recording:
    return Recording(dsbd.decode(toy_pair(), 'Once "upon"\n', SETTINGS, record=True).trace)


@pytest.fixture(scope="module")
def pairs() -> PairShelf:
    """The shelf of a page with another pair than the bundled ones, and room for these."""
    return PairShelf(toy_pair(), 2)


@pytest.mark.parametrize("method", ["dsbd", "specinfer", "greedy"])
def test_the_form_repeats_a_decode(method):
    """Catches a form that shows other settings than the decode it stands above."""
    settings = read_settings(**vars(SETTINGS) | {"method": method, "replacement": False, "landing": False})
    trace = dsbd.decode(toy_pair(), "Once", settings, record=True).trace
    prompt, chosen, *filled = updates(trace.prompt.text, trace.settings, Limits())
    assert prompt == "Once"
    assert resolve(settings_of(chosen, [one["value"] for one in filled])) == trace.settings


def test_values_outside_a_slider_are_moved_into_it():
    """Catches a recording whose values Gradio refuses at the next Run."""
    _, _, *filled = updates("Once", replace(SETTINGS, max_new_tokens=4000, draft_depth=20, seed=2**40), Limits())
    shown_now = {field.name: one["value"] for field, one in zip(FIELDS, filled, strict=True)}
    assert shown_now["max_new_tokens"] == Limits().max_new_tokens
    assert shown_now["draft_depth"] == 8
    assert shown_now["seed"] == 2**40, "a field without a range keeps what it is given"
    values = values_of(settings_of("dsbd", values_of(replace(SETTINGS, forest="auto"))))
    assert dict(zip(shown_now, values, strict=True))["draft_depth"] == 4, "auto is shown by its forest"


def kept_after(times: int, recording: Recording) -> tuple[history.Kept, ...]:
    """So many decodes that are alike."""
    kept: tuple[history.Kept, ...] = ()
    for _ in range(times):
        kept, _, _ = history.keep(kept, (history.RUN, Recording(recording.trace)), "toy/target")
    return kept


def test_old_runs_make_room(ran, monkeypatch):
    """Catches a visit that fills the memory of the page."""
    kept = kept_after(history.MOST + 3, ran)
    assert [one.name for one in kept] == [f"run-{number}" for number in range(4, history.MOST + 4)]
    monkeypatch.setattr(history, "MOST_BYTES", 3 * len(kept[0].packed))
    assert len(kept_after(8, ran)) == 3
    monkeypatch.setattr(history, "MOST_BYTES", 1)
    assert len(kept_after(8, ran)) == 1, "the newest stays"


@pytest.mark.parametrize("name", [["run-1"], "run-99", "../secrets"])
def test_names_of_no_decode_are_refused(engine, recorded, ran, name):
    frame = shown.choose(engine, PAGE, kept_after(1, ran), name)
    assert 'role="alert"' in frame.problem
    assert frame.recording is shown.Frame().recording


def test_what_is_shown_says_whether_run_repeats_it(engine, ran):
    assert shown.said_of(engine, PAGE, ran) == "The form has its prompt, settings and seed."
    models = replace(ran.trace.models, target=replace(ran.trace.models.target, id="<b>other"))
    other = Recording(replace(ran.trace, models=models))
    assert "&lt;b&gt;other made it, and Run uses toy/target" in shown.said_of(engine, PAGE, other)
    costly = replace(ran.trace.settings, depth_costs=(1.0, 1.1, 1.2))
    assert "except depth_costs" in shown.said_of(engine, PAGE, Recording(replace(ran.trace, settings=costly)))


def test_continuing_takes_the_text_and_the_next_seed(ran):
    best = ran.result.beams[0]
    open_end = replace(ran.result, beams=[replace(best, finished=False)])
    prompt, settings = shown.further(Recording(replace(ran.trace, result=open_end)), Limits())
    assert prompt == ran.prompt + best.text
    assert settings.seed == 10
    ended = replace(ran.result, beams=[replace(best, finished=True)])
    for recording, said in (
        (None, "no whole decode"),
        (Recording(replace(ran.trace, result=None)), "no whole decode"),
        (Recording(replace(ran.trace, result=ended)), "ended by itself"),
    ):
        with pytest.raises(gr.Error, match=said):
            shown.further(recording, Limits())
    with pytest.raises(gr.Error, match="this page takes 3"):
        shown.further(Recording(replace(ran.trace, result=open_end)), Limits(max_prompt_characters=3))


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        dsbd.DecodingSettings(method="specinfer", branching=(3, 2), replacement=False, top_p=0.5),
        dsbd.DecodingSettings(min_width=2, max_width=5, landing=False),
    ],
)
def test_a_link_restores_the_form(settings, pairs):
    query = query_of("Once & <b>?\n", settings, pair_name(PAGE, pairs))
    assert read_query(dict(parse_qsl(query)), Limits(), pairs) == ("Once & <b>?\n", settings, PAGE)


def test_a_link_names_its_pair_and_no_folder(pairs):
    """Catches also a link to the stories of one page that another page takes for its own pair."""
    for key in (PAGE, "bundled:sql"):
        name = pair_name(key, pairs)
        assert name == ("toy/target + toy/draft" if key == PAGE else key)
        assert read_query({"pair": name}, Limits(), pairs) == (None, None, key)
    assert pair_name("/home/me/large + /home/me/small", pairs) == "large + small"
    pair = toy_pair()
    pairs = PairShelf(replace(pair, target=replace(pair.target, id="bundled/target")), 2)
    assert pair_name(PAGE, pairs) == "bundled:stories"
    assert pair_key("bundled:stories", pairs) == PAGE


def test_other_addresses_say_nothing(pairs):
    assert read_query({"__theme": "dark", "view": "api", "utm_source": "x"}, Limits(), pairs) is None


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"seed": "-3"}, "seed is -3"),
        ({"max_new_tokens": "99999"}, "99,999 asked for, 256 allowed on this page"),
        ({"method": "<b>"}, "method is '<b>'"),
        ({"seed": "3", "sed": "4"}, "names 'sed', which is no field"),
        ({"method": "greedy", "draft_depth": "3"}, "greedy does not read"),
        ({"prompt": "x" * 20_001}, "this page takes 20,000"),
        ({"pair": "<b>", "seed": "3"}, "the pair '<b>', which this page does not have; it has toy/target"),
    ],
)
def test_bad_links_get_a_sentence(query, said, pairs):
    with pytest.raises(DsbdError, match=said):
        read_query(query, Limits(), pairs)


def test_the_lines_of_python_repeat_the_decode(ran, monkeypatch, tmp_path, capsys):
    """Runs what the page offers."""
    asked = []
    monkeypatch.setattr(dsbd, "load_pair", lambda *names: asked.append(names) or toy_pair())
    monkeypatch.chdir(tmp_path)
    exec(python_lines(ran.trace), {})
    assert asked == [("toy/target", "toy/draft")]
    repeated = Trace.load("trace.json.gz")
    assert (repeated.settings, repeated.result.token_ids) == (ran.trace.settings, ran.result.token_ids)
    assert capsys.readouterr().out == f"{ran.trace.result.text}\n"


def test_a_bundled_pair_is_loaded_by_its_name(ran):
    for target, arguments in (("bundled/target", ""), ("bundled:sql/target", "'bundled:sql'")):
        models = replace(ran.trace.models, target=replace(ran.trace.models.target, id=target))
        assert f"dsbd.load_pair({arguments})" in python_lines(replace(ran.trace, models=models))
