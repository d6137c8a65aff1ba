"""Memory of a contender against bytes counted by hand."""

from dataclasses import replace

from dsbd.measure.bench.cache_bytes import memory_of
from dsbd.measure.bench.records import Forwards, Memory, OtherCaches
from tests.measure.bench.made_up import made_up_costs, made_up_run

TARGET, DRAFT = (replace(made_up_costs(1, 1.0), slot_bytes=size) for size in (100, 10))


def test_other_designs_are_computed_from_the_longest_run():
    """Catches a forgotten draft cache, the shortest run, and bytes per beam that forget the prompt."""
    runs = [made_up_run(4, kv_peak_bytes=3000), made_up_run(9, prompt_tokens=11, kv_peak_bytes=4400)]
    forwards = Forwards(target=TARGET, draft=DRAFT)
    assert memory_of(6, True, runs, forwards) == Memory(
        kv_peak_bytes=4400,
        computed=OtherCaches(one_sequence_bytes=20 * 110, cache_per_beam_bytes=6 * 20 * 110),
        ratio_to_one_sequence=2.0,
    )
    assert memory_of(6, False, runs, forwards).computed.one_sequence_bytes == 20 * 100


def test_what_was_not_measured_stays_unknown():
    """Catches a zero that claims a method needs no memory."""
    assert memory_of(4, True, [made_up_run(3)], None) == Memory()
