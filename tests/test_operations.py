"""The tensor operations of an iteration outside the models' forwards, counted: a clock would measure the machine."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import dsbd
from dsbd.models.language_model import LanguageModel
from tests.toy_pair import toy_pair

SLACK = 1.15
"""Versions of torch split some functions into a few operations more."""


class Counting(TorchDispatchMode):
    """Counts the operations that reach the dispatcher, except those of forwards."""

    count, in_forward = 0, False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += not self.in_forward
        return function(*args, **(kwargs or {}))


def operations(monkeypatch, **values) -> float:
    """Return the mean number of operations of an iteration."""
    forward, counting = LanguageModel.forward, Counting()

    def uncounted(*given, **named):
        counting.in_forward = True
        try:
            return forward(*given, **named)
        finally:
            counting.in_forward = False

    settings, pair = dsbd.DecodingSettings(**{"max_new_tokens": 24, "seed": 3} | values), toy_pair()
    with monkeypatch.context() as patched, torch.inference_mode(), counting:
        patched.setattr(LanguageModel, "forward", uncounted)
        result = dsbd.decode(pair, "One day", settings)
    return counting.count / result.stats.iterations


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({"draft_depth": 4}, 215),
        ({"draft_depth": 4, "replacement": False}, 196),
        ({"draft_depth": 4, "cover_width": 4}, 237),
        ({"draft_depth": 4, "forest": "likely"}, 184),
        ({"method": "specinfer"}, 223),
        ({"method": "beam_sampling"}, 44),
    ],
    ids=str,
)
def test_an_iteration_takes_no_more_operations_than_it_did(monkeypatch, settings, most):
    """Catches an operation that is added to every layer, and a loop over nodes."""
    assert operations(monkeypatch, **settings) <= SLACK * most
