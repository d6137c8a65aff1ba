"""One measured bench for all tests of this folder."""

import pytest

from dsbd.measure.bench.prepare import learn_acceptance
from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.schedule import measure
from tests.measure.bench.plans import ALL, plan_of
from tests.toy_pair import toy_pair


@pytest.fixture(scope="package")
def measured():
    """Every method on two prompts, one run each."""
    plan, journal = plan_of(ALL, rounds=1), Journal()
    list(learn_acceptance(toy_pair(), plan, journal))
    list(measure(toy_pair(), plan, journal))
    return plan, journal
