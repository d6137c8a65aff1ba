"""Figures of a bench: their data by equality, their drawing by rendering, their page whole and offline."""

import json
import re
from pathlib import Path

import pytest

import visualize
from dsbd.errors import TraceError
from dsbd.measure.bench.plain import to_plain
from dsbd.measure.bench.records import Limits, bench_summary
from dsbd.settings import DecodingSettings
from tests.measure.bench.made_up import made_up_summary
from tests.visualize.homes import visit
from visualize.figures.bench import QualityInfo, SpeedInfo, SweepInfo, plot_sweep, quality_info, speed_info, sweep_infos
from visualize.figures.bench_machine import BarsInfo, ForwardsInfo, energy_info, forwards_info, limits_info, memory_info
from visualize.pages.bench_page import MOST_LINES, bench_figures, bench_page

EVIL = "</script><script>alert(1)</script>"


def row(name, milliseconds, **figures):
    """Make a contender of a summary, as plain data."""
    depth = int(name.partition("=")[2] or 4)
    return to_plain(made_up_summary(name, milliseconds, settings=DecodingSettings(draft_depth=depth))) | figures


def summary():
    """Make a summary as ``bench --json`` prints it."""
    memory = {"kv_peak_bytes": 3_000_000, "peak_allocated_bytes": None,
              "computed": {"one_sequence_bytes": 2_000_000, "cache_per_beam_bytes": 8_000_000}}  # fmt: skip
    verdict = {"perplexity": {"mean": 0.0, "half_width": 0.1},
               "best_log_weight_per_token": {"mean": 0.0, "half_width": 0.1}}  # fmt: skip
    limits = to_plain(
        Limits(target_floor_milliseconds=1.0, target_forward_milliseconds=2.0, beams_forward_milliseconds=2.0,
               draft_depth=4.0, layers=3.0, speed_up_limit=2.5, hardware=0.5, algorithm=0.8, total=0.4)
    )  # fmt: skip
    ours = [
        row(f"dsbd draft_depth={depth}", speed, layers_per_iteration=layers, memory=memory, limits=limits,
            quality={"equal": equal, **verdict})
        for depth, speed, layers, equal in ((4, 5.0, 3.0, True), (2, 6.0, 2.0, False))
    ]  # fmt: skip
    speeds = {
        one["contender"]: {"baseline": "beam_sampling", "median": value, "low": low, "high": 2.1, "above_1": 3,
                           "of": 3, "sign_test_p": 0.25}
        for one, value, low in zip(ours, (2.0, 1.7), (1.9, None), strict=True)
    }  # fmt: skip
    return {
        "format": "dsbd-bench/1",
        "contenders": [*ours, row("beam_sampling", 10.0)],
        "baselines": ["beam_sampling"],
        "ratios": {"beam_sampling": speeds},
        "forwards": {"target": {"milliseconds": {"1": 8.0, "16": 9.0}, "weight_bytes": 4e7, "slot_bytes": 10,
                                "bandwidth_bytes_per_second": 1e10}, "draft": None},
        "conditions": {"machine": {"processor": EVIL}},
        "complete": False, "prompts": 3, "rounds": 1, "quality_rule": "a rule",
    }  # fmt: skip


EMPTY = {"contenders": [], "baselines": [], "ratios": {}, "forwards": None}


def test_infos_hold_the_numbers_of_the_summary():
    names = ("dsbd draft_depth=4", "dsbd draft_depth=2")
    assert speed_info(summary()) == SpeedInfo("beam_sampling", names, (2.0, 1.7), (1.9, None), (2.1, 2.1), (2.5, 2.5))
    assert quality_info(summary()) == QualityInfo(
        (*names, "beam_sampling"), (5.0, 6.0, 10.0), (2.0,) * 3, (0.1,) * 3, (True, False, None), 2
    )
    assert sweep_infos(summary()) == (
        SweepInfo("draft_depth", (("dsbd", (2, 4), (6.0, 5.0), (2.0, 3.0)),)),
    )  # sorted along the setting, whatever the order of the contenders
    assert limits_info(summary()).series == {"hardware": (0.5,) * 2, "algorithm": (0.8,) * 2, "total": (0.4,) * 2}
    assert memory_info(summary()) == BarsInfo("Keys and values", "MB", names, {
        "measured": (3.0,) * 2, "one sequence (computed)": (2.0,) * 2, "a cache per beam (computed)": (8.0,) * 2
    })  # fmt: skip
    assert forwards_info(summary()) == ForwardsInfo({"target": ((1, 16), (8.0, 9.0), 4.0)})


def test_energy_is_shown_only_where_measured():
    """Catches a bar of height 0 where nothing was measured: it claims that decoding is free."""
    assert energy_info(summary()).names == ()
    data = summary()
    taken = {"state": "counter", "joules_per_token": 2.0, "above_idle_joules_per_token": 1.5}
    silent = {"state": "not measured", "joules_per_token": None, "above_idle_joules_per_token": None}
    data["contenders"][0]["energy"] = {"gpu": taken, "cpu_package": silent}
    assert energy_info(data).series == {
        "gpu (counter)": (2.0, None, None), "gpu, above idle": (1.5, None, None)
    }  # fmt: skip


def test_nothing_measured_draws_titled_empty_figures():
    """Catches a figure that fails, or that is blank without a title, where a bench has measured nothing."""
    for figure in bench_figures(bench_summary(EMPTY)).values():
        assert figure.layout.title.text
        assert not figure.data


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_draw(theme):
    assert visualize.speed_figure(summary(), theme=theme).data[0].text == ("2.00 ×", "1.70 ×")
    symbols = {trace.name: trace.marker.symbol for trace in visualize.quality_figure(summary(), theme=theme).data}
    assert len(set(symbols.values())) == 3  # the verdicts differ in more than their colour
    (info,) = sweep_infos(summary())
    assert plot_sweep(info, theme).data[0].text == ("2.0", "3.0")


def test_the_page_is_whole_and_offline(tmp_path):
    page = bench_page(summary())
    assert EVIL not in page
    assert "Not measured: energy." in page
    assert "Not complete" in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)
    visualize.export_bench(summary(), tmp_path / "bench.html", plotly="beside")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert len((tmp_path / "bench.html").read_text(encoding="utf-8")) < 200_000


@pytest.mark.parametrize("figure", ["speed_figure", "quality_figure"])
def test_a_record_and_its_json_draw_the_same(figure):
    """Catches a figure that takes only one of the two."""
    draw = getattr(visualize, figure)
    assert draw(bench_summary(summary())).to_json() == draw(summary()).to_json()


@pytest.mark.parametrize("part", ["widths", "depths"])
def test_results_of_older_versions_are_drawn(part):
    """Catches figures that can no longer read the results of this repository."""
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "results" / "0.3B-cpu-sweeps.json"
    older = json.loads(path.read_text(encoding="utf-8"))[part]
    drawn = bench_figures(bench_summary(older))
    assert {name for name, figure in drawn.items() if not figure.data} == {"energy"}
    assert len([name for name in drawn if name.startswith("sweep ")]) == 1


def test_a_grid_is_not_drawn_as_sweeps():
    """Catches a figure of fifty lines."""
    for lines, drawn in ((MOST_LINES, ["sweep draft_depth"]), (MOST_LINES + 1, [])):
        rows = [row(f"{name} draft_depth={depth}", 5.0) for name in "abcdefghi"[:lines] for depth in (2, 4)]
        figures = bench_figures(bench_summary(summary() | {"contenders": rows, "ratios": {}}))
        assert [name for name in figures if name.startswith("sweep")] == drawn


def test_data_that_is_no_summary_is_named():
    """Catches a KeyError where another JSON file is given."""
    with pytest.raises(ValueError, match="no summary of a bench: contenders"):
        visualize.speed_figure({"methods": []})
    with pytest.raises(ValueError, match="str is no summary of a bench"):
        visualize.quality_figure("runs.jsonl")


def test_bad_arguments_are_named(tmp_path):
    """Catches a traceback of the library, or a page without its script."""
    with pytest.raises(ValueError, match="plotly is 'cdn'"):
        bench_page(summary(), plotly="cdn")
    with pytest.raises(TraceError, match="cannot write"):
        visualize.export_bench(summary(), tmp_path / "no" / "such.html")


@pytest.mark.parametrize("width", [420, 1200])
@pytest.mark.slow
def test_the_page_opens_without_an_error(browser, tmp_path, width):
    visualize.export_bench(summary(), tmp_path / "bench.html")
    with visit(browser, tmp_path / "bench.html", viewport={"width": width, "height": 900}) as seen:
        seen.page.wait_for_selector(".js-plotly-plot .main-svg")
        assert seen.page.locator(".js-plotly-plot").count() == 6
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        seen.quiet()
