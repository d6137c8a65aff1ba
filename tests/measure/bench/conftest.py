"""One measured bench for all tests of this folder."""

import pytest

from dsbd.measure.bench.bench import learn_acceptance
from tests.measure.bench.contests import ALL, contest_of, measured_answers
from tests.toy_pair import toy_pair


@pytest.fixture(scope="package")
def measured():
    """Measure every method on two prompts, one run each."""
    contest = contest_of(ALL, rounds=1)
    answers = measured_answers(contest)
    list(learn_acceptance(toy_pair(), contest, answers))
    return contest, answers
