"""The Pareto front against a comparison of every point with every other one."""

from dsbd.evaluation.fronts import pareto_front
from hypothesis import given
from hypothesis import strategies as st

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@given(POINTS)
def test_the_front_by_comparing_all_with_all(points):
    """Catches a dominated point on the line, a point lost to a tie, and an equal point drawn twice."""
    slow = {
        one for one in points
        if not any(other[0] >= one[0] and other[1] >= one[1] and other != one for other in points)
    }  # fmt: skip
    found = pareto_front(points)
    assert [points[place] for place in found] == sorted(slow)
    assert all(points.index(points[place]) == place for place in found)
