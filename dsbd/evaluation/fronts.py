"""The Pareto front: the points that no other point beats in both respects."""

from collections.abc import Sequence

Point = tuple[float, float]


def pareto_front(points: Sequence[Point]) -> list[int]:
    """Return the places of the points on the front, by ascending first value.

    A point is off the front if another one is at least as large in both values and larger in one. Of equal points the
    first stands for all.

    >>> pareto_front([(1, 5), (2, 4), (2, 3), (0, 4), (3, 1), (1, 5)])
    [0, 1, 4]

    Args:
        points: two values each, larger is better in both. Negate a value of which less is better.
    """
    order = sorted(range(len(points)), key=lambda place: (-points[place][0], -points[place][1], place))
    front, best = list[int](), float("-inf")
    for place in order:
        if points[place][1] > best:
            front.append(place)
            best = points[place][1]
    return front[::-1]
