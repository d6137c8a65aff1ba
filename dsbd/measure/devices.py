"""What a device can do, as its maker's datasheet says: memory, bandwidth, arithmetic. Nothing here is measured.

Arithmetic is that of dense matrices: datasheets often print twice as much, for matrices with a structure of zeros. The
sums of float16 and bfloat16 are kept in float32, as torch does. A gigabyte is 10**9 bytes.
"""

from dataclasses import dataclass, replace

from dsbd.errors import PlanError
from dsbd.models.choices import DTYPES

GIGA, TERA = 1e9, 1e12
OWN = "cpu"
"""The device whose figures the caller gives."""


@dataclass(frozen=True)
class Device:
    """A device for one dtype. None is "not known": then nothing that rests on it is computed."""

    name: str
    dtype: str
    """The weights' and the cache's."""
    memory_bytes: float | None
    bandwidth: float
    """Bytes per second between the memory and the processor."""
    flops: float | None
    """Operations per second in this dtype; a multiplication and an addition are two."""
    source: str
    """Where the figures are from."""


@dataclass(frozen=True)
class _Sheet:
    """A line of the table: GB, GB/s, and 10**12 operations per second by dtype."""

    memory: float
    bandwidth: float
    flops: dict[str, float]
    source: str


def _tensor(half: float, single: float) -> dict[str, float]:
    return {"bfloat16": half, "float16": half, "float32": single}


SHEETS = {
    "H200": _Sheet(141, 4800, _tensor(989, 67), "NVIDIA H200 Tensor Core GPU datasheet, SXM"),
    "H100": _Sheet(80, 3350, _tensor(989, 67), "NVIDIA H100 Tensor Core GPU datasheet, SXM"),
    "H100-PCIe": _Sheet(80, 2000, _tensor(756, 51), "NVIDIA H100 Tensor Core GPU datasheet, PCIe"),
    "A100-80GB": _Sheet(80, 2039, _tensor(312, 19.5), "NVIDIA A100 Tensor Core GPU datasheet, SXM 80 GB"),
    "A100-40GB": _Sheet(40, 1555, _tensor(312, 19.5), "NVIDIA A100 Tensor Core GPU datasheet, SXM 40 GB"),
    "L40S": _Sheet(48, 864, _tensor(362, 91.6), "NVIDIA L40S datasheet"),
    "L4": _Sheet(24, 300, _tensor(121, 30.3), "NVIDIA L4 Tensor Core GPU datasheet"),
    "A10": _Sheet(24, 600, _tensor(125, 31.2), "NVIDIA A10 Tensor Core GPU datasheet"),
    "RTX-4090": _Sheet(24, 1008, _tensor(165.2, 82.6), "NVIDIA Ada GPU architecture whitepaper"),
    "RTX-3090": _Sheet(24, 936, _tensor(71, 35.6), "NVIDIA Ampere GA102 GPU architecture whitepaper"),
    "T4": _Sheet(16, 320, {"float16": 65, "float32": 8.1}, "NVIDIA T4 Tensor Core GPU datasheet"),
}
"""Devices by name."""


def device_for(
    name: str,
    dtype: str = "auto",
    memory: float | None = None,
    bandwidth: float | None = None,
    flops: float | None = None,
) -> Device:
    """Return a device of the table, or the caller's own, for one dtype.

    Args:
        name: of :data:`SHEETS` in any case, or ``cpu``, whose bandwidth must be given.
        dtype: ``auto`` is bfloat16, or float16 on a device that has no arithmetic for bfloat16.
        memory: bytes, instead of the table's.
        bandwidth: bytes per second, instead of the table's.
        flops: operations per second in this dtype, instead of the table's.

    Raises:
        PlanError: the device or the dtype is unknown, a figure is not above 0, or the bandwidth is missing.
    """
    for what, value in (("memory", memory), ("bandwidth", bandwidth), ("flops", flops)):
        if value is not None and not 0 < value < float("inf"):
            raise PlanError(f"{what} is {value!r}; allowed are numbers above 0")
    known = {one.lower(): one for one in SHEETS}
    if dtype not in ("auto", *DTYPES):
        raise PlanError(f"dtype is {dtype!r}; choose auto, {', '.join(DTYPES)}")
    if name.lower() == OWN:
        if bandwidth is None:
            raise PlanError("the bandwidth of a cpu is in no table; measure and give it: --bandwidth, in GB/s")
        kind = "bfloat16" if dtype == "auto" else dtype
        return Device(OWN, kind, memory, bandwidth, flops, "as given")
    if name.lower() not in known:
        raise PlanError(f"there is no device {name[:60]!r}; choose one of {', '.join(SHEETS)}, or {OWN} with figures")
    sheet = SHEETS[known[name.lower()]]
    kind = next(iter(sheet.flops)) if dtype == "auto" else dtype
    rate = sheet.flops.get(kind)
    found = Device(
        known[name.lower()],
        kind,
        sheet.memory * GIGA,
        sheet.bandwidth * GIGA,
        None if rate is None else rate * TERA,
        sheet.source,
    )
    given = {"memory_bytes": memory, "bandwidth": bandwidth, "flops": flops}
    changed = {field: value for field, value in given.items() if value is not None}
    if not changed:
        return found
    return replace(found, **changed, source=f"{sheet.source}; as given: {', '.join(changed)}")  # type: ignore[arg-type]
