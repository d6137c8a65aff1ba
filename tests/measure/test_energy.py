"""Energy by an imitated zeus: joules in all and above idle, or "not measured"."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from dsbd.measure import energy as energy_module
from dsbd.measure.energy import NOT_MEASURED, Meter


class ZeusBaseError(Exception):
    """The error that the package raises."""


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    now = 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def device(monkeypatch):
    """Imitate zeus on a device; ``device.watts`` is what it uses, ``device.refuses`` makes it raise."""
    state = SimpleNamespace(clock=FakeTime(), watts=10.0, refuses=False, packages=(0, 1))

    class Monitor:
        def __init__(self, gpu_indices, cpu_indices):
            if state.refuses:
                raise ZeusBaseError
            self.gpu_indices = gpu_indices
            self.cpu_indices = list(state.packages) if cpu_indices is None else cpu_indices

        def begin_window(self, key, sync_execution):
            self.start = state.clock.now

        def end_window(self, key, sync_execution):
            seconds = state.clock.now - self.start
            used = lambda numbers: dict.fromkeys(numbers, seconds * state.watts)  # noqa: E731
            return SimpleNamespace(
                time=seconds, gpu_energy=used(self.gpu_indices), cpu_energy=used(self.cpu_indices) or None
            )

    monkeypatch.setattr(energy_module, "time", state.clock)
    monkeypatch.setitem(sys.modules, "zeus", ModuleType("zeus"))
    monkeypatch.setitem(sys.modules, "zeus.exception", SimpleNamespace(ZeusBaseError=ZeusBaseError))
    monkeypatch.setitem(sys.modules, "zeus.monitor", SimpleNamespace(ZeusMonitor=Monitor))
    return state


@pytest.mark.parametrize(("gpu", "counters"), [(0, 1), (None, 2)], ids=["gpu", "two packages"])
def test_idle_energy_is_subtracted_by_time(device, gpu, counters):
    """Catches the idle joules subtracted as they are, blocks have other lengths; and a package that is left out."""
    meter = Meter(gpu, idle_seconds=2.0)
    device.watts = 40.0
    meter.begin()
    device.clock.sleep(5.0)
    energy = meter.end()
    assert energy.joules == pytest.approx(200.0 * counters)
    assert energy.above_idle_joules == pytest.approx(150.0 * counters)


@pytest.mark.parametrize("state", [{"refuses": True}, {"packages": ()}, None], ids=["no counter", "no cpu", "no zeus"])
def test_a_device_without_a_counter_is_not_measured(device, state, monkeypatch):
    """Catches a bench that stops, or an energy of zero."""
    if state is None:
        monkeypatch.setitem(sys.modules, "zeus.monitor", None)
    vars(device).update(state or {})
    meter = Meter()
    meter.begin()
    assert meter.end() == NOT_MEASURED
