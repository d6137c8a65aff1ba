"""A decode that ends at a text: the answer is that of the whole decode, and no other decode ends there."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import dsbd
from dsbd.session import Until
from dsbd.stopping import cut
from tests.toy_pair import toy_pair

SETTINGS = dsbd.DecodingSettings(max_new_tokens=16, draft_depth=3, draft_width=4, num_beams=3)
ENDS = list("=AEFKSXfs")
SEEDS = range(4)


def decoded(method: str, seed: int, until=()) -> dsbd.DecodingResult:
    return dsbd.decode(toy_pair(), "Once", replace(SETTINGS, method=method, seed=seed), until=until)


@pytest.mark.parametrize("method", ["sampling", "speculative", "beam_sampling", "dsbd", "beam_search"])
def test_the_answer_is_that_of_the_whole_decode(method):
    """Catches a decode that ends because the best hypothesis has the text, while another one may still be returned."""
    saved = 0
    for seed in SEEDS:
        whole, early = decoded(method, seed), decoded(method, seed, ENDS)
        assert cut(early.text, ENDS) == cut(whole.text, ENDS)
        assert early.stats.layers <= whole.stats.layers
        saved += whole.stats.layers - early.stats.layers
    assert saved > 0, "the texts are never there: this test sees nothing"


@pytest.mark.parametrize(
    ("candidates", "enough"),
    [
        ([("one;", False)], True),
        ([("one; two", False), ("one;", False)], True),
        ([("one", True), ("one; two", False)], True),
        ([("one;", False), ("two;", False)], False),
        ([("one;", False), ("one", False)], False),
        ([("one;", False), ("two", True)], False),
        ([("one", False)], False),
    ],
    ids=str,
)
def test_beams_that_can_still_differ_go_on(candidates, enough):
    """Catches a stop while it is open which answer is returned: the law would be another."""
    hypotheses = [
        SimpleNamespace(node=SimpleNamespace(token_ids=lambda text=text: text), finished=finished)
        for text, finished in candidates
    ]
    snapshot = SimpleNamespace(pair=SimpleNamespace(decode=str), candidates=hypotheses)
    assert Until([";"])(snapshot) is enough
