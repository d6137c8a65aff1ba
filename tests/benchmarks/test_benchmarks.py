"""Each planted fault still has its place, and its program tells caught from missed; the tables of benchmarks.beams."""

import sys

import pytest

from benchmarks import beams
from benchmarks.beams import text_of, voted
from benchmarks.planted_faults import FAULTS, ROOT, Fault, is_caught, planted, suite_of
from tests.bench.made_up import made_up_run


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_each_fault_still_has_its_place(fault):
    """Catches a line that changed: its fault would no longer be planted."""
    changed = planted(fault, (ROOT / fault.file).read_text(encoding="utf-8"))
    if fault.file.endswith(".py"):
        compile(changed, fault.file, "exec")
    assert fault.new != fault.old
    assert FAULTS.count(fault) == 1
    assert suite_of(fault.file)


@pytest.mark.slow
@pytest.mark.parametrize(("new", "caught"), [("number < 0", True), ("number  > 0", False)])
def test_a_fault_is_caught_or_missed(tmp_path, new, caught):
    """Catches a program that plants nothing, says caught of everything, or leaves the fault behind."""
    (tmp_path / "dsbd" / "verification").mkdir(parents=True)
    (tmp_path / "tests" / "verification").mkdir(parents=True)
    file = tmp_path / "dsbd" / "verification" / "sign.py"
    file.write_text("def positive(number):\n    return number > 0\n")
    test = "from dsbd.verification.sign import positive\ndef test():\n    assert positive(1)\n"
    (tmp_path / "tests" / "verification" / "test_sign.py").write_text(test)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    assert is_caught(Fault("dsbd/verification/sign.py", "number > 0", new), tmp_path) is caught
    assert file.read_text().count("number > 0") == 1


@pytest.mark.parametrize(
    ("answers", "perplexities", "by_text", "by_rows"),
    [
        ("a,a,b", (3.0, 2.0, 1.0), 1, 1),
        ("a,b,c", (2.0, 3.0, 1.0), 2, 2),
        ("a ,a,b", (2.0, 3.0, 1.0), 0, 0),
        ("a,A,b", (2.0, 3.0, 1.0), 2, 0),
        ("bad,bad,b", (1.0, 2.0, 3.0), 0, 2),
        ("bad,bad,bad", (2.0, 1.0, 3.0), 1, 1),
    ],
)
def test_a_vote_takes_the_likeliest_of_the_most(answers, perplexities, by_text, by_rows):
    """Catches a vote for the first or the likeliest of all, for a query that fails, and spaces that make a text."""
    samples = [
        made_up_run("sampling", answer=answer, perplexity=one)
        for answer, one in zip(answers.split(","), perplexities, strict=True)
    ]
    assert voted(samples).perplexity == 1.0
    assert samples.index(voted(samples, text_of)) == by_text
    assert samples.index(voted(samples, {"a": 1, "a ": 1, "A": 1, "b": 2, "c": 3}.get)) == by_rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "systems"), [("why", {"greedy", "T 1 equal 4"}), ("width", {"equal 4 fixed, sampled 2 x 4"})]
)
def test_a_table_of_beams_has_its_rows(what, systems, monkeypatch, capsys):
    """Catches a field that a decode no longer has, and a name that --only no longer finds."""
    options = ["--limit", "2", "--depths", "2", "--max-new-tokens", "8", "--only"]
    monkeypatch.setattr(sys, "argv", ["beams", what, *options, "|".join(f"{name}$" for name in systems)])
    beams.main()
    shown = capsys.readouterr().out
    assert [name for name in systems if name not in shown] == []
