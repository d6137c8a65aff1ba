"""Meters on a pretended NVML and a pretended powercap tree."""

import time
from types import SimpleNamespace

import pytest

from dsbd.measure.energy import (
    NOT_MEASURED,
    AboveIdleMeter,
    Counter,
    CounterMeter,
    NullMeter,
    PowerMeter,
    cpu_meter,
    gpu_meter,
)


class NVMLError(Exception):
    """What the library raises."""


def fake_nvml(*, counter=True, power=True, mig=False, processes=1):
    """A GPU that takes 100 W, told by a counter (mJ), by a power reading (mW), by both or by neither."""
    began = time.perf_counter()

    def refuse(*_):
        raise NVMLError

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetHandleByUUID=lambda name: {"GPU-a-b": 0}[name],
        nvmlDeviceGetMigMode=(lambda handle: [1, 1]) if mig else refuse,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [object()] * processes,
        nvmlDeviceGetTotalEnergyConsumption=(lambda handle: 100_000 * (time.perf_counter() - began))
        if counter else refuse,
        nvmlDeviceGetPowerUsage=(lambda handle: 100_000) if power else refuse,
    )  # fmt: skip


def measured(meter, seconds=0.05):
    meter.begin()
    start = time.perf_counter()
    time.sleep(seconds)
    energy = meter.end()
    return energy, time.perf_counter() - start


@pytest.mark.parametrize(("options", "state"), [({}, "counter"), ({"counter": False}, "integrated")])
def test_gpu_takes_a_hundred_watts(options, state):
    """Millijoules taken for joules, or watts not multiplied by time, would be off a thousandfold."""
    energy, seconds = measured(gpu_meter(nvml=fake_nvml(**options), idle_seconds=0.05))
    assert energy.state == state
    assert energy.joules == pytest.approx(100 * seconds, rel=0.3)
    assert energy.above_idle_joules < 0.3 * energy.joules  # nothing ran: all of it is idle


@pytest.mark.parametrize(
    "options", [{"mig": True}, {"processes": 2}, {"counter": False, "power": False}], ids=["mig", "shared", "silent"]
)
def test_what_cannot_be_told_is_not_measured(options):
    """On a shared or cut GPU the counter holds the work of others too."""
    meter = gpu_meter(nvml=fake_nvml(**options), idle_seconds=0.01)
    assert isinstance(meter, NullMeter)
    assert measured(meter, 0)[0] == NOT_MEASURED


def test_a_gpu_is_found_by_its_name():
    """With CUDA_VISIBLE_DEVICES, place 0 of NVML is another GPU: its energy would be reported."""
    assert measured(gpu_meter("a-b", nvml=fake_nvml(), idle_seconds=0.01))[0].state == "counter"


def test_a_broken_driver_is_not_measured():
    library = fake_nvml()
    library.nvmlInit = library.nvmlDeviceGetMigMode
    assert isinstance(gpu_meter(nvml=library), NullMeter)


def powercap(root, microjoules, name="package-0", zone="intel-rapl:0"):
    folder = root / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text("1000000000\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    return folder / "energy_uj"


def test_packages_are_summed_and_a_wrap_is_seen(tmp_path):
    """A counter that starts anew would give a negative energy; cores inside a package would count twice."""
    first = powercap(tmp_path, 999_000_000)
    second = powercap(tmp_path, 5_000_000, "package-1", "intel-rapl:1")
    inner = powercap(tmp_path, 0, "core", "intel-rapl:0:0")
    meter = cpu_meter(tmp_path, idle_seconds=0.01)
    meter.begin()
    first.write_text("1000000")  # 1 J past the end of the range, 2 J in all
    second.write_text("8000000")
    inner.write_text("9000000")
    energy = meter.end()
    assert energy.joules == pytest.approx(2 + 3)
    assert energy.above_idle_joules == pytest.approx(5)


def test_no_powercap_is_not_measured(tmp_path):
    assert isinstance(cpu_meter(tmp_path / "absent"), NullMeter)
    powercap(tmp_path, "unreadable")
    assert isinstance(cpu_meter(tmp_path), NullMeter)


def test_idle_is_taken_off_by_time():
    """Subtracting the idle joules of the learning time instead of the block's would be wrong for any other length."""
    state = {"joules": 0.0, "watts": 10.0, "at": time.perf_counter()}

    def read():
        now = time.perf_counter()
        state["joules"] += state["watts"] * (now - state["at"])
        state["at"] = now
        return state["joules"]

    meter = AboveIdleMeter(CounterMeter([Counter(read)]), idle_seconds=0.05)
    state["watts"] = 40.0
    energy, seconds = measured(meter, 0.1)
    assert energy.joules == pytest.approx(40 * seconds, rel=0.2)
    assert energy.above_idle_joules == pytest.approx(30 * seconds, rel=0.2)


def test_power_is_integrated_by_trapezoids():
    """Two readings of a power that rises evenly are enough; the last reading alone would say twice as much."""
    began = time.perf_counter()
    meter = PowerMeter(lambda: 100 * (time.perf_counter() - began), period_seconds=60)
    before = time.perf_counter() - began
    energy, _ = measured(meter, 0.1)
    after = time.perf_counter() - began
    assert energy.joules == pytest.approx(50 * (after**2 - before**2), rel=0.1)
