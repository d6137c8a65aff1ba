"""The list of planted faults stays true, and the program that plants them tells caught from missed."""

import pytest

from benchmarks import planted_faults
from benchmarks.planted_faults import FAULTS, ROOT, Fault, mirrors_of, planted


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_each_fault_still_has_its_place(fault):
    """Catches a line that changed: its fault would no longer be planted."""
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    changed = planted(fault, text)
    if fault.file.endswith(".py"):
        compile(changed, fault.file, "exec")
    assert fault.new != fault.old
    assert FAULTS.count(fault) == 1
    assert all((ROOT / name).is_file() for name in mirrors_of(fault.file))


@pytest.mark.slow
@pytest.mark.parametrize(("new", "caught"), [("number < 0", True), ("number  > 0", False)])
def test_a_fault_is_caught_or_missed(tmp_path, new, caught):
    """Catches a program that plants nothing, says caught of everything, or leaves the fault behind."""
    (tmp_path / "dsbd").mkdir()
    (tmp_path / "tests").mkdir()
    file = tmp_path / "dsbd" / "sign.py"
    file.write_text("def positive(number):\n    return number > 0\n")
    (tmp_path / "tests" / "test_sign.py").write_text(
        "from dsbd.sign import positive\ndef test():\n    assert positive(1)\n"
    )
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    outcome = planted_faults.try_fault(Fault("dsbd/sign.py", "number > 0", new), tmp_path)
    assert outcome.caught is caught
    assert file.read_text().count("number > 0") == 1
