"""One measured bench for all tests of this folder."""

import pytest

from dsbd.measure.bench.prepare import learn_acceptance
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from tests.measure.bench.contests import ALL, contest_of
from tests.toy_pair import toy_pair


@pytest.fixture(scope="package")
def measured():
    """Measure every method on two prompts, one run each."""
    contest, results = contest_of(ALL, rounds=1), ResultsFile()
    list(learn_acceptance(toy_pair(), contest, results))
    list(measure(toy_pair(), contest, results))
    return contest, results
