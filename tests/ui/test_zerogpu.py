"""With a lender of GPUs every call that uses the models is lent one; without, nothing changes."""

import sys
from types import ModuleType

import dsbd
from ui import zerogpu
from ui.engine import LONGEST_LOAN_SECONDS, Engine


def test_without_a_lender_functions_stay_as_they_are():
    assert zerogpu.on_gpu(lambda: 1)(print) is print


def test_with_a_lender_the_duration_follows_the_work(monkeypatch):
    """A visitor has minutes a day: a short decode must not borrow the GPU for long."""
    asked = []
    lender = ModuleType("spaces")
    lender.__spec__ = type(sys.__spec__)("spaces", None)

    def lend(duration):
        asked.append(duration)
        return lambda function: function

    lender.GPU = lend
    monkeypatch.setitem(sys.modules, "spaces", lender)
    Engine(pair=None)
    decode_seconds, compare_seconds = asked
    short, long = (dsbd.DecodingSettings(max_new_tokens=count) for count in (8, 256))
    assert decode_seconds("Once", short) < decode_seconds("Once", long) <= LONGEST_LOAN_SECONDS
    assert compare_seconds("Once", short, ["dsbd"], 1) < compare_seconds("Once", short, ["dsbd", "greedy"], 5)
    assert compare_seconds("Once", long, ["dsbd"] * 6, 5) == LONGEST_LOAN_SECONDS
