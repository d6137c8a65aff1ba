"""The report as Markdown: what stands where, and the words for what was not seen or not measured."""

import re

import pytest

from dsbd.evaluation.make_tables import make_table
from dsbd.evaluation.markdown import report_markdown, verdict
from dsbd.evaluation.statistics import NO_DIFFERENCE
from tests.evaluation.made_up import BASELINE, RIGHT, answer, made_up_answers, made_up_table

TABLE = made_up_table()


def sections(text):
    """Return the text below each heading."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cells(section):
    """Return the rows of a table by the first cell."""
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {line[0]: line for line in lines[2:]}


@pytest.fixture(scope="module")
def found():
    return sections(report_markdown({"sql": TABLE}))


def test_one_sequence_and_all_beams_stand_apart(found):
    """Catches decoders of one sequence compared with beams as if they held as much."""
    assert set(cells(found["One sequence kept"])) == {"dsbd draft_width=4 input_beams=1", "speculative", "sampling"}
    assert set(cells(found["All beams kept"])) == set(RIGHT) - set(cells(found["One sequence kept"]))
    assert (
        found["sql"].strip().startswith("8 questions in 2 clusters, one seed each. Quality is execution_accuracy: more")
    )


def test_nothing_measured_is_said(found):
    """Catches an empty cell, or 0 joules, where no counter was read."""
    assert cells(found["One sequence kept"])["sampling"][3] == "not measured"
    assert "Energy was not measured: there is no front against J/token." in found["Pareto fronts"]
    measured = report_markdown({"sql": made_up_table(joules=80.0)})
    assert "ahead in execution_accuracy against J/token" in measured
    assert "Energy was not measured" not in measured


def test_the_front_is_over_all_contenders(found):
    """Catches a contender on the front that another one beats in both respects."""
    assert list(cells(found["Pareto fronts"])) == ["dsbd draft_width=4 input_beams=None",
                                                   "dsbd draft_width=4 input_beams=1", "speculative"]  # fmt: skip


def test_differences_come_with_words_and_exact_p(found):
    compared = cells(found[f"Differences to {BASELINE}"])
    assert BASELINE not in compared
    assert compared["speculative"][3:6] == ["0", "3", "0.25"]
    assert compared["dsbd draft_width=4 input_beams=None"][2] == NO_DIFFERENCE
    assert compared["dsbd draft_width=4 input_beams=None"][1].startswith("+12.5 points [")
    assert "the test of McNemar" in found[f"Differences to {BASELINE}"]


def test_less_perplexity_is_better():
    """Catches "better" for a higher perplexity, and a perplexity in per cent."""
    rows = [
        answer(name, question, None, perplexity=value + question / 100, cluster=str(question))
        for name, value in (("beam_sampling num_beams=2", 3.0), (BASELINE, 2.0))
        for question in range(8)
    ]
    table = make_table(rows, task="stories", metric=None, baseline=BASELINE)
    assert verdict(table, table.rows[0].difference) == "worse"
    compared = cells(sections(report_markdown({"stories": table}))[f"Differences to {BASELINE}"])
    assert compared["beam_sampling num_beams=2"][1:5] == ["+1.000", "worse", "0", "8"]


def test_a_task_note_stands_in_its_chapter():
    table = make_table(made_up_answers(), task="spider", metric="m", note="on reconstructed databases")
    text = report_markdown({"spider": table})
    assert "Note: on reconstructed databases." in text
    assert "Differences" not in text  # there is no baseline


def test_missing_decodes_and_the_figures_are_named():
    text = report_markdown({"sql": TABLE}, complete=False, figures="figures.html")
    assert text.startswith(
        "# Evaluation\n\nNot complete: some decodes are missing.\n\n[Figures](figures.html)\n\n## sql"
    )
    assert "Not complete" not in report_markdown({"sql": TABLE})
