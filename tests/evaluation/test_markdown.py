"""The report as Markdown: what stands where, and the words for what was not seen or not measured."""

import re

from dsbd.evaluation.make_tables import make_table
from dsbd.evaluation.markdown import NONE, report_markdown, report_tables, verdict
from dsbd.evaluation.report import Report
from dsbd.evaluation.statistics import NO_DIFFERENCE
from tests.evaluation.made_up import BASELINE, answer, made_up_table

TABLE = made_up_table()


def sections(text):
    """Return the text below each heading."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cells(section):
    """Return the rows of a table by the first cell."""
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {line[0]: line for line in lines[2:]}


def told(table):
    """Return the differences that the report of one table tells."""
    report = report_markdown(Report(True, {table.task: table}), "figures.html")
    return sections(report)[f"Differences to {BASELINE}: {table.task}"]


def test_what_was_not_measured_is_said_and_what_is_kept():
    """Catches an empty column, or 0 joules, where no counter was read; and one sequence that seems to hold many."""
    lines = [[part.strip() for part in line.strip("|").split("|")]
             for line in report_tables(Report(True, {"sql": TABLE})).splitlines() if line[:1] == "|"]  # fmt: skip
    rows = {line[1]: line for line in lines[2:]}
    assert {name for name, line in rows.items() if line[2] == "one sequence"} == {
        "dsbd draft_width=4 input_beams=1", "speculative", "sampling"
    }  # fmt: skip
    assert (rows["sampling"][3], rows["sampling"][4][:8]) == ("execution_accuracy", "37.5 % [")
    assert "J/token [95 %]" not in lines[0]
    assert "Energy: not measured." in report_tables(Report(True, {"sql": TABLE}))


def test_figures_are_where_their_heads_say():
    """Catches a figure in another column, and a method without a note on its law."""
    rows = [answer("ct2_beam_search", 0, None, joules=80.0, kv_peak_bytes=3_000_000, iterations=None),
            answer("sampling", 0, None, seconds=2.0, prefill_seconds=0.5, joules=80.0)]  # fmt: skip
    table = make_table(rows, task="prompts", metric=None)
    printed = report_tables(Report(False, {"prompts": table}))
    heads, _, ct2, ours = ([part.strip() for part in line.strip("|").split("|")] for line in printed.splitlines()[:4])
    found = dict(zip(heads, zip(ct2, ours, strict=True), strict=True))
    assert "metric" not in found
    assert found["KV MB"] == ("3.00", NONE)
    assert found["J/token [95 %]"] == ("2.000", "2.000")
    assert (found["ms/token [95 %]"][1], found["prefill ms"][1]) == ("50.00", "500.0")
    assert found["layers/iteration"] == (NONE, "2.50")
    assert "ct2_beam_search: ctranslate2 in float32; its law is beam search, not beam sampling." in printed
    assert "prompts: 1 prompts, 1 seeds of each." in printed
    assert "Not complete" in printed


def test_differences_come_with_words_and_exact_p():
    compared = cells(told(TABLE))
    assert BASELINE not in compared
    assert compared["speculative"][3:6] == ["0", "3", "0.25"]
    assert compared["dsbd draft_width=4 input_beams=None"][2] == NO_DIFFERENCE
    assert compared["dsbd draft_width=4 input_beams=None"][1].startswith("+12.5 points [")
    assert "the test of McNemar" in told(TABLE)


def test_less_perplexity_is_better():
    """Catches "better" for a higher perplexity, and a perplexity in per cent."""
    rows = [
        answer(name, question, None, perplexity=value + question / 100, cluster=str(question))
        for name, value in (("beam_sampling num_beams=2", 3.0), (BASELINE, 2.0))
        for question in range(8)
    ]
    table = make_table(rows, task="stories", metric=None, baselines=[BASELINE])
    assert verdict(table, table.rows[0].difference) == "worse"
    compared = cells(told(table))
    assert compared["beam_sampling num_beams=2"][1:5] == ["+1.000", "worse", "0", "8"]
