"""Whether two queries gave the same rows.

Values are the same if they are equal, or if one is a float and they differ by at most 1e-6 (1e-9 of the larger one);
NULL is the same as NULL. Rows are a multiset: every row as often, in any order, unless the order is asked for.

*Source:* the columns in any order are the comparison of Spider's official evaluation (Zhong et al., arXiv 2010.02840).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from dsbd.tasks.sql.execution import Row, Value


def same_rows(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool, any_columns: bool = False) -> bool:
    """Tell whether an answer has the rows of the gold answer.

    Args:
        gold: the right rows, all of one length.
        answer: the rows to check, all of one length.
        ordered: the rows must come in the same order.
        any_columns: the answer's columns may be in another order, the same for all rows.

    Example:
        >>> same_rows([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], ordered=False)
        True
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False)
        False
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False, any_columns=True)
        True
    """
    if len(gold) != len(answer) or not gold:
        return len(gold) == len(answer)
    if len(gold[0]) != len(answer[0]):
        return False
    same = _same_lists if ordered else _same_multisets
    return _some_columns(gold, answer, same, ()) if any_columns else same(gold, answer)


def _some_columns(
    gold: Sequence[Row],
    answer: Sequence[Row],
    same: Callable[[Sequence[Row], Sequence[Row]], bool],
    chosen: tuple[int, ...],
) -> bool:
    """Tell whether the chosen columns of the answer, the gold's first ones, can be completed to all columns."""
    width = len(gold[0])
    if len(chosen) == width:
        return True
    for column in range(width):
        trial = (*chosen, column)
        if (
            column not in chosen
            and same([row[: len(trial)] for row in gold], [tuple(row[place] for place in trial) for row in answer])
            and _some_columns(gold, answer, same, trial)
        ):
            return True
    return False


def _same_lists(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    return all(map(_same_row, gold, answer))


def _same_multisets(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    """Pair equal rows first, then the rest within the tolerance."""
    left, found = Counter(gold), Counter(answer)
    missing, extra = list((left - found).elements()), list((found - left).elements())
    for row in missing:
        place = next((place for place, other in enumerate(extra) if _same_row(row, other)), None)
        if place is None:
            return False
        del extra[place]
    return True


def _same_row(gold: Row, answer: Row) -> bool:
    return all(map(_same_value, gold, answer))


def _same_value(gold: Value, answer: Value) -> bool:
    if isinstance(gold, (int, float)) and isinstance(answer, (int, float)) and float in (type(gold), type(answer)):
        return math.isclose(gold, answer, rel_tol=1e-9, abs_tol=1e-6)
    return gold == answer
