"""All of these tests run on one thread."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _one_thread(one_thread) -> None:
    pass
