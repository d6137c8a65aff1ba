"""Figures of a bench: the numbers of its summary, drawn, and a page that is whole and offline."""

import json
import re
from pathlib import Path

import pytest

import visualize
from dsbd.measure.bench.plain import to_plain
from dsbd.measure.bench.records import Limits, bench_summary
from dsbd.settings import DecodingSettings
from tests.measure.bench.made_up import made_up_summary
from tests.visualize.homes import visit
from visualize.figures.bench import MOST_LINES, bench_figures
from visualize.pages.bench_page import bench_page

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
        "ratios": {"beam_sampling": speeds | {"beam_sampling": None}},
        "forwards": {"target": {"milliseconds": {"1": 8.0, "16": 9.0}, "weight_bytes": 4e7, "slot_bytes": 10,
                                "bandwidth_bytes_per_second": 1e10}, "draft": None},
        "conditions": {"machine": {"processor": EVIL}},
        "complete": False, "prompts": 3, "rounds": 1, "quality_rule": "a rule",
    }  # fmt: skip


def drawn(data):
    """Return the figures of a bench, by name."""
    return bench_figures(bench_summary(data))


def bars_of(figure):
    return {trace.name: trace.x for trace in figure.data}


def test_figures_hold_the_numbers_of_the_summary():
    figures = drawn(summary())
    names = ("dsbd draft_depth=4", "dsbd draft_depth=2")
    measured, limits = figures["speed"].data
    assert (measured.x, measured.y, limits.x) == ((2.0, 1.7), names, (2.5, 2.5))
    assert measured.error_x.arrayminus == (pytest.approx(0.1), 0.0)  # an end that is not known draws none
    quality = figures["quality"].data
    assert [(trace.x[0], trace.y[0]) for trace in quality] == [(5.0, 2.0), (6.0, 2.0), (10.0, 2.0)]
    assert [trace.name.partition("(")[2] for trace in quality] == ["equal quality)", "worse)", "baseline)"]
    assert len({trace.marker.symbol for trace in quality}) == 3  # the verdicts differ in more than their colour
    (sweep,) = figures["sweep draft_depth"].data
    assert (sweep.name, sweep.x, sweep.y, sweep.text) == ("dsbd", (2, 4), (6.0, 5.0), ("2.0", "3.0"))  # sorted
    assert bars_of(figures["limits"]) == {"hardware": (0.5,) * 2, "algorithm": (0.8,) * 2, "total": (0.4,) * 2}
    assert bars_of(figures["memory"]) == {
        "measured": (3.0,) * 2, "one sequence (computed)": (2.0,) * 2, "a cache per beam (computed)": (8.0,) * 2
    }  # fmt: skip
    target, floor = figures["forwards"].data
    assert (target.name, target.x, target.y, floor.y) == ("target", (1, 16), (8.0, 9.0), (4.0, 4.0))


def test_energy_is_shown_only_where_measured():
    """Catches a bar of height 0 where nothing was measured: it claims that decoding is free."""
    data = summary()
    assert not drawn(data)["energy"].data
    taken = {"state": "counter", "joules_per_token": 2.0, "above_idle_joules_per_token": 1.5}
    silent = {"state": "not measured", "joules_per_token": None, "above_idle_joules_per_token": None}
    data["contenders"][0]["energy"] = {"gpu": taken, "cpu_package": silent}
    figure = drawn(data)["energy"]
    assert bars_of(figure) == {"gpu (counter)": (2.0, None, None), "gpu, above idle": (1.5, None, None)}
    assert figure.data[0].text == ("2.00", "not measured", "not measured")


def test_nothing_measured_draws_titled_empty_figures():
    """Catches a figure that fails, or that is blank without a title, if a bench has measured nothing."""
    for figure in drawn({"contenders": [], "baselines": [], "ratios": {}, "forwards": None}).values():
        assert figure.layout.title.text
        assert not figure.data


def test_the_page_is_whole_and_offline(tmp_path):
    page = bench_page(summary())
    assert EVIL not in page
    assert "Not measured: energy." in page
    assert "Not complete" in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)
    visualize.export_bench(summary(), tmp_path / "bench.html", plotly="beside")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert len((tmp_path / "bench.html").read_text(encoding="utf-8")) < 200_000


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("figure", ["speed_figure", "quality_figure"])
def test_a_record_and_its_json_draw_the_same(figure, theme):
    """Catches a figure that takes only one of the two."""
    draw = getattr(visualize, figure)
    assert draw(bench_summary(summary()), theme=theme).to_json() == draw(summary(), theme=theme).to_json()


@pytest.mark.parametrize("part", ["widths", "depths"])
def test_results_of_older_versions_are_drawn(part):
    """Catches figures that can no longer read the results of this repository."""
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "results" / "0.3B-cpu-sweeps.json"
    figures = drawn(json.loads(path.read_text(encoding="utf-8"))[part])
    assert {name for name, figure in figures.items() if not figure.data} == {"energy"}
    assert len([name for name in figures if name.startswith("sweep ")]) == 1


def test_a_grid_is_not_drawn_as_sweeps():
    """Catches a figure of fifty lines."""
    for lines, sweeps in ((MOST_LINES, ["sweep draft_depth"]), (MOST_LINES + 1, [])):
        rows = [row(f"{name} draft_depth={depth}", 5.0) for name in "abcdefghi"[:lines] for depth in (2, 4)]
        figures = drawn(summary() | {"contenders": rows, "ratios": {}})
        assert [name for name in figures if name.startswith("sweep")] == sweeps


@pytest.mark.parametrize("width", [420, 1200])
@pytest.mark.slow
def test_the_page_opens_without_an_error(browser, tmp_path, width):
    visualize.export_bench(summary(), tmp_path / "bench.html")
    with visit(browser, tmp_path / "bench.html", viewport={"width": width, "height": 900}) as seen:
        seen.page.wait_for_selector(".js-plotly-plot .main-svg")
        assert seen.page.locator(".js-plotly-plot").count() == 6
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        seen.quiet()
