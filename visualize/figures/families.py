"""Groups the contenders of an evaluation by family: one line of a chart each."""

from dsbd.evaluation.tables import ContenderRow, EvaluationTable

ONE, ALL = "one sequence kept", "all beams kept"


def family_of(row: ContenderRow) -> str:
    """Return the method; for ``dsbd`` also how many beams are kept."""
    return f"{row.method}, {ONE if row.one_sequence else ALL}" if row.method == "dsbd" else row.method


def families_of(table: EvaluationTable) -> dict[str, list[ContenderRow]]:
    """Return the rows that have a quality, by family in the order of the table."""
    found: dict[str, list[ContenderRow]] = {}
    for row in table.rows:
        if row.quality is not None:
            found.setdefault(family_of(row), []).append(row)
    return found


def quality_title(table: EvaluationTable) -> str:
    """Return the title of an axis of quality."""
    return f"{table.metric.replace('_', ' ')} ({'more' if table.higher_is_better else 'less'} is better)"
