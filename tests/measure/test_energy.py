"""Energy meters on an imitated NVML, an imitated powercap folder and an imitated clock."""

from types import SimpleNamespace

import pytest

from dsbd.measure import energy as energy_module
from dsbd.measure.energy import (
    NOT_MEASURED,
    AboveIdleMeter,
    Counter,
    CounterMeter,
    NullMeter,
    cpu_meter,
    gpu_meter,
)


class NVMLError(Exception):
    """The error that the library raises."""


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    fake = FakeTime()
    monkeypatch.setattr(energy_module, "time", fake)
    return fake


def fake_nvml(clock, *, counter=True, mig=False, processes=1):
    """Make a GPU that uses 100 W, with or without a counter of millijoules."""

    def refuse(*_):
        raise NVMLError

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetHandleByUUID=lambda name: {"GPU-a-b": 0}[name],
        nvmlDeviceGetMigMode=(lambda handle: [1, 1]) if mig else refuse,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [object()] * processes,
        nvmlDeviceGetTotalEnergyConsumption=(lambda handle: 100_000 * clock.now) if counter else refuse,
    )


def measured(meter, clock, seconds):
    meter.begin()
    clock.sleep(seconds)
    return meter.end()


def test_a_gpu_of_a_hundred_watts(clock):
    """Catches millijoules that are taken for joules, and idle energy that is not subtracted."""
    energy = measured(gpu_meter(nvml=fake_nvml(clock)), clock, 3.0)
    assert energy.state == "counter"
    assert energy.joules == pytest.approx(300.0)
    assert energy.above_idle_joules == pytest.approx(0.0, abs=1e-6)  # nothing ran: all of it is idle


@pytest.mark.parametrize(
    "options", [{"mig": True}, {"processes": 2}, {"counter": False}], ids=["mig", "shared", "no counter"]
)
def test_a_gpu_without_a_counter_of_its_own_is_not_measured(clock, options):
    """Catches the energy of other processes reported as ours: a shared or split GPU counts them all."""
    meter = gpu_meter(nvml=fake_nvml(clock, **options))
    assert isinstance(meter, NullMeter)
    assert measured(meter, clock, 1.0) == NOT_MEASURED


def test_a_gpu_is_found_by_its_uuid(clock):
    """Catches the energy of another GPU: with CUDA_VISIBLE_DEVICES, number 0 of NVML is not our device."""
    assert measured(gpu_meter("a-b", nvml=fake_nvml(clock)), clock, 1.0).state == "counter"


def test_a_broken_driver_is_not_measured(clock):
    """Catches a bench that stops because the driver does not answer."""
    library = fake_nvml(clock)
    library.nvmlInit = library.nvmlDeviceGetMigMode
    assert isinstance(gpu_meter(nvml=library), NullMeter)


def powercap(root, microjoules, name="package-0", zone="intel-rapl:0"):
    folder = root / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text("1000000000\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    return folder / "energy_uj"


def test_packages_are_summed_and_a_counter_may_start_again_from_zero(tmp_path, clock):
    """Catches a negative energy after a restart of the counter, and cores inside a package that count twice."""
    first = powercap(tmp_path, 999_000_000)
    second = powercap(tmp_path, 5_000_000, "package-1", "intel-rapl:1")
    inner = powercap(tmp_path, 0, "core", "intel-rapl:0:0")
    meter = cpu_meter(tmp_path)
    meter.begin()
    first.write_text("1000000")  # 1 J after the end of the range, 2 J in all
    second.write_text("8000000")
    inner.write_text("9000000")
    energy = meter.end()
    assert energy.joules == pytest.approx(2 + 3)
    assert energy.above_idle_joules == pytest.approx(5)


def test_no_powercap_is_not_measured(tmp_path):
    """Catches a bench that stops, or an energy of zero, where the kernel has no readable counter."""
    assert isinstance(cpu_meter(tmp_path / "absent"), NullMeter)
    powercap(tmp_path, "unreadable")
    assert isinstance(cpu_meter(tmp_path), NullMeter)


def test_idle_energy_is_subtracted_by_time(clock):
    """Catches the idle joules of the idle measurement subtracted as they are: blocks have other lengths."""
    state = {"joules": 0.0, "watts": 10.0, "at": clock.now}

    def read():
        state["joules"] += state["watts"] * (clock.now - state["at"])
        state["at"] = clock.now
        return state["joules"]

    meter = AboveIdleMeter(CounterMeter([Counter(read)]), idle_seconds=2.0)
    state["watts"] = 40.0
    energy = measured(meter, clock, 5.0)
    assert energy.joules == pytest.approx(200.0)
    assert energy.above_idle_joules == pytest.approx(150.0)
