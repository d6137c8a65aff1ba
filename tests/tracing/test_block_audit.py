"""A chain under block verification, decided again: a bound that one check alone holds."""

import dsbd
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair
from tests.tracing.forger import resealed


def test_what_the_next_draft_leaves_bounds_s_from_below():
    """Catches an audit that takes a smaller s, with the chance that follows from it, where no residual is drawn."""
    trace, number, place, least = next(open_rests())
    data = trace.to_dict()
    one = data["iterations"][number]["beginnings"][place]
    for rest in (least / 2, least - 1e-4, 0.0):
        one.update(rest=rest, acceptance=rest / (rest + 1.0 - one["probability"]))
        assert "at most" in dsbd.verify_trace(resealed(data)).failure
    rest = least + 1e-4
    one.update(rest=rest, acceptance=rest / (rest + 1.0 - one["probability"]))
    assert dsbd.verify_trace(resealed(data)).failure is None


def open_rests():
    """A trace, an iteration and a beginning whose s decides nothing, with p P - Q of the next draft."""
    for seed in range(200):
        asked = dsbd.DecodingSettings("speculative", verification="block", max_new_tokens=8, draft_depth=4, seed=seed)
        trace: Trace = dsbd.decode(toy_pair(), "Once", asked, record=True).trace
        nodes = trace.node_index()
        for number, iteration in enumerate(trace.iterations):
            for place, (one, below) in enumerate(zip(iteration.beginnings, iteration.beginnings[1:], strict=False)):
                least = one.probability * below.target_prob - nodes[below.node].draft_prob
                if one.uniform is None and one.probability < 0.99 and 2e-4 < least < one.rest - 2e-4:
                    yield trace, number, place, least
