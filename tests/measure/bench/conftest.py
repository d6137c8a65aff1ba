"""One measured contest for all tests of this folder."""

import pytest

from tests.measure.bench.contests import ALL, contest_of, measured_answers


@pytest.fixture(scope="package")
def measured():
    """Measure every method on two prompts, one run each."""
    contest = contest_of(ALL, rounds=1)
    return contest, measured_answers(contest)
