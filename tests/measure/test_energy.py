"""Energy by an imitated zeus: joules, or None where they cannot be measured."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from dsbd.measure.energy import Meter


class ZeusBaseError(Exception):
    """The error that the package raises."""


@pytest.fixture
def device(monkeypatch):
    """Imitate zeus on a device where every counter moves by 7 joules; ``device.refuses`` makes it raise."""
    state = SimpleNamespace(refuses=False, packages=(0, 1))

    class Monitor:
        def __init__(self, gpu_indices, cpu_indices):
            if state.refuses:
                raise ZeusBaseError
            self.gpu_indices = gpu_indices
            self.cpu_indices = list(state.packages) if cpu_indices is None else cpu_indices

        def begin_window(self, key, sync_execution):
            self.key = key

        def end_window(self, key, sync_execution):
            assert key == self.key
            cpu = dict.fromkeys(self.cpu_indices, 7.0) or None
            return SimpleNamespace(gpu_energy=dict.fromkeys(self.gpu_indices, 7.0), cpu_energy=cpu)

    monkeypatch.setitem(sys.modules, "zeus", ModuleType("zeus"))
    monkeypatch.setitem(sys.modules, "zeus.exception", SimpleNamespace(ZeusBaseError=ZeusBaseError))
    monkeypatch.setitem(sys.modules, "zeus.monitor", SimpleNamespace(ZeusMonitor=Monitor))
    return state


def measured(gpu: int | None) -> float | None:
    meter = Meter(gpu)
    meter.begin()
    return meter.end()


def test_all_packages_of_the_processor_are_counted(device):
    assert (measured(0), measured(None)) == (7.0, 14.0)


@pytest.mark.parametrize("state", [{"refuses": True}, {"packages": ()}, None], ids=["no counter", "no cpu", "no zeus"])
def test_a_device_without_a_counter_is_not_measured(device, state, monkeypatch):
    """Catches a bench that stops, or an energy of zero."""
    if state is None:
        monkeypatch.setitem(sys.modules, "zeus.monitor", None)
    vars(device).update(state or {})
    assert measured(None) is None
