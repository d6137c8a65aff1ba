"""The Markdown tables of a bench."""

import pytest

from dsbd.measure.bench.records import BenchSummary, Control, EnergyPerToken, Forwards
from dsbd.measure.bench.summary import summarise
from dsbd.measure.bench.tables import bench_tables, cell, mean_cell, median_cell
from tests.measure.bench.made_up import made_up_costs, made_up_summary


def test_every_contender_has_its_rows(measured):
    """Catches a contender that a table leaves out."""
    summary = summarise(*measured, ("beam_sampling",))
    printed = bench_tables(summary)
    assert all(printed.count(f"| {row.contender} ") >= 2 for row in summary.contenders)
    assert "| dsbd defaults / beam_sampling " in printed
    assert "Energy: not measured." in printed
    assert "a mean has none from one prompt, a median from fewer than 6" in printed


def test_nothing_and_half_of_it_say_so():
    """Catches empty tables, and an unfinished bench that looks finished."""
    assert bench_tables(BenchSummary(contenders=())) == "nothing measured yet"
    assert "Not complete" in bench_tables(BenchSummary(contenders=(made_up_summary("dsbd", 5.0),)))


def test_figures_are_where_their_heads_say():
    """Catches a floor or an energy in another column."""
    energy = {"gpu": EnergyPerToken(state="counter", joules_per_token=2.0, above_idle_joules_per_token=1.5)}
    row = made_up_summary("dsbd", 5.0, energy=energy, auto_reason="because")
    forwards = Forwards(target=made_up_costs(10**7, 20.0))
    printed = bench_tables(BenchSummary(contenders=(row,), forwards=forwards, complete=True))
    lines = ["".join(line.split()) for line in printed.splitlines()]
    assert "|target|10|1|10.00|20.00(0.50)|20.00(0.50)|" in lines
    assert "|dsbd|gpu|counter|2.000|1.500|" in lines
    assert "dsbd: because" in printed
    assert "Not complete" not in printed


@pytest.mark.parametrize(
    ("control", "warning"),
    [
        (Control(before=10.0, after=11.0, row=10.9), None),
        (Control(before=10.0, after=12.0), "the control moved by more than 15 %"),
        (Control(before=10.0, after=10.0, row=12.0), "the control moved by more than 15 %"),
        (Control(before=10.0, after=10.0, row=8.0), "the control moved by more than 15 %"),
        (Control(before=10.0, after=10.0, openmp_runtimes=2), "had 2 OpenMP runtimes"),
    ],
)
def test_figures_of_a_disturbed_bench_are_not_to_be_published(control, warning):
    """Catches a bench whose own baseline became slower or faster among the others, and looks like any other."""
    printed = bench_tables(BenchSummary(contenders=(made_up_summary("dsbd", 5.0),), control=control))
    assert f"alone took {control.before:.2f} ms per token" in printed
    assert ("Do not publish" in printed) is (warning is not None)
    assert warning is None or warning in printed


def test_cells():
    """Catches an interval that is shown although it is not known."""
    assert (cell(None), cell(1.234, 1)) == ("–", "1.2")
    assert (mean_cell(1.0, None), mean_cell(1.0, 0.5)) == ("1.00", "1.00 ± 0.50")
    assert (median_cell(1.0, None, None), median_cell(2.0, 1.0, 3.0, 1)) == ("1.00", "2.0 [1.0, 3.0]")
