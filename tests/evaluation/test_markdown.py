"""The report as Markdown: what stands where, and the words for what was not seen or not measured."""

from itertools import groupby

from dsbd.evaluation.make_tables import make_table
from dsbd.evaluation.markdown import NONE, report_tables, verdict
from dsbd.evaluation.report import Report
from dsbd.evaluation.statistics import NO_DIFFERENCE

from tests.evaluation.made_up import BASELINE, answer, made_up_table

TABLE = made_up_table()


def tables_in(text):
    """Return the tables of a text: the cells of each row by its head."""
    lines = [
        [part.strip() for part in line.strip("|").split("|")] if line[:1] == "|" else [] for line in text.splitlines()
    ]
    found = []
    for _, group in groupby(lines, bool):
        heads, *rows = group
        if heads:
            found.append([dict(zip(heads, row, strict=True)) for row in rows[1:]])
    return found


def told(table):
    """Return the comparisons that the report of one table tells, by contender."""
    _, compared = tables_in(report_tables(Report(True, {table.task: table})))
    return {row["compared"].removesuffix(f" / {BASELINE}"): row for row in compared}


def test_what_was_not_measured_is_said_and_what_is_kept():
    """Catches an empty column, or 0 joules, where no counter was read; and one sequence that seems to hold many."""
    figures, _ = tables_in(report_tables(Report(True, {"sql": TABLE})))
    rows = {row["contender"]: row for row in figures}
    assert {name for name, row in rows.items() if row["kept"] == "one sequence"} == {
        "dsbd draft_width=4 input_beams=1", "speculative", "sampling"
    }  # fmt: skip
    assert (rows["sampling"]["metric"], rows["sampling"]["value [95 %]"][:8]) == ("execution_accuracy", "37.5 % [")
    assert "J/token [95 %]" not in rows["sampling"]
    assert "Energy: not measured." in report_tables(Report(True, {"sql": TABLE}))


def test_figures_are_where_their_heads_say():
    """Catches a figure in another column, and a method without a note on its law."""
    rows = [answer("ct2_beam_search", 0, None, joules=80.0, kv_peak_bytes=3_000_000, iterations=None),
            answer("sampling", 0, None, seconds=2.0, prefill_seconds=0.5, joules=80.0)]  # fmt: skip
    table = make_table(rows, task="prompts", metric=None)
    printed = report_tables(Report(False, {"prompts": table}))
    ((ct2, ours),) = tables_in(printed)
    found = {head: (cell, ours[head]) for head, cell in ct2.items()}
    assert "metric" not in found
    assert found["KV MB"] == ("3.00", NONE)
    assert found["J/token [95 %]"] == ("2.000", "2.000")
    assert (found["ms/token [95 %]"][1], found["prefill ms"][1]) == ("50.00", "500.0")
    assert found["layers/iteration"] == (NONE, "2.50")
    assert "ct2_beam_search: ctranslate2 in float32; its law is beam search, not beam sampling." in printed
    assert "prompts: 1 prompts, 1 seeds of each." in printed
    assert "Not complete" in printed


def test_differences_come_with_words_and_exact_p():
    compared = told(TABLE)
    assert BASELINE not in compared
    found = compared["speculative"]
    assert (found["better on"], found["worse on"], found["exact p"]) == ("0", "3", "0.25")
    ours = compared["dsbd draft_width=4 input_beams=None"]
    assert (ours["verdict"], ours["difference [95 %]"][:14]) == (NO_DIFFERENCE, "+12.5 points [")


def test_less_perplexity_is_better():
    """Catches "better" for a higher perplexity, and a perplexity in per cent."""
    rows = [
        answer(name, question, None, perplexity=value + question / 100, cluster=str(question))
        for name, value in (("beam_sampling num_beams=2", 3.0), (BASELINE, 2.0))
        for question in range(8)
    ]
    table = make_table(rows, task="stories", metric=None, baselines=[BASELINE])
    assert verdict(table, table.rows[0].difference) == "worse"
    found = told(table)["beam_sampling num_beams=2"]
    assert [found[name] for name in ("difference [95 %]", "verdict", "better on", "worse on")] == [
        "+1.000",
        "worse",
        "0",
        "8",
    ]
