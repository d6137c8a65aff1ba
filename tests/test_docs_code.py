"""Every block of Python and of shell in the documentation runs as it stands, or a table says why it does not.

The blocks of a page run one after the other, as a reader of the clone runs them: what one defines, writes or exports is
there for the next.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import visualize
from dsbd.cli import parser

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in FILES}
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.S | re.M)
RUN, SHOWN = {"python", "bash"}, {"", "text", "json", "yaml", "html", "js", "nginx", "markdown"}
"""Kinds of blocks: those that run, and those that are read."""
PIP, SERVED, GPU = "pip fetches from a package index", "needs the page at that port", "measures on a GPU"
NOT_RUN = {
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python app.py"): PIP,
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -r tests"): PIP,
    ("docs/tutorial.md", "python3 -m venv"): PIP,
    ("docs/teaching.md", "python3 -m venv"): PIP,
    ("docs/commands.md", "python -m dsbd custom-generate folder"): "needs lm_eval, and a data set of a hub",
    ("docs/many-prompts.md", "target = AutoModel"): "needs two processes",
    ("docs/hosting.md", "python app.py"): "serves until it is stopped; .ci/smoke_page.py does it",
    ("docs/hosting.md", "python -m dsbd examples"): "serves, too; tests/page/test_runs.py does it",
    ("docs/hosting.md", "docker build"): "builds an image from the network",
    ("docs/hosting.md", "hf auth login"): "needs an account of the hub",
    ("docs/hosting.md", "GRADIO_ROOT_PATH"): "serves until it is stopped, behind another server",
    ("docs/programs.md", "from gradio_client"): SERVED,
    ("docs/programs.md", "answer = page.predict"): SERVED,
    ("docs/programs.md", "job = page.submit"): SERVED,
    ("docs/programs.md", "curl -s"): SERVED,
    ("docs/performance.md", "python -m dsbd bench --max"): "measures for ten minutes",
    ("docs/performance.md", "python -m benchmarks.surrogate"): GPU,
    ("docs/evaluation.md", "python -m benchmarks.beams"): "measures for half an hour",
    ("docs/evaluation.md", "OMP_NUM_THREADS=1 python -m benchmarks.beams"): "measures for ten minutes",
    ("docs/evaluation.md", "python -m benchmarks.eight_bits"): "needs SmolLM2, and minutes",
    ("docs/evaluation.md", "tr '"): "reads a long prompt 16 times",
    ("docs/evaluation.md", "python -m dsbd eval"): "measures for half an hour",
}
"""Blocks that no test runs, by their page and how they begin, and why; their commands of ``dsbd`` are still parsed."""
STAND_INS = {"target": ("path/or/hub-id/of/the/target", "Qwen/Qwen3-8B"),
             "draft": ("path/or/hub-id/of/the/draft", "Qwen/Qwen3-0.6B")}  # fmt: skip
"""Names of models that this machine does not have: a toy model runs in the place of each."""
QUICK = ["docs/algorithm.md", "docs/api/drawings.md"]
"""Pages whose blocks load no model."""


def blocks_of(page: str) -> list[tuple[str, str]]:
    """Return the kind and the text of every block of a page, with the files that the site puts into it."""
    text = PAGES[page].read_text(encoding="utf-8")
    text = re.sub(
        r"^--8<--\n(\S+)\n--8<--$", lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), text, flags=re.M
    )
    return [(found[2], re.sub(rf"^{found[1]}", "", found[3], flags=re.M)) for found in BLOCK.finditer(text)]


def reason(page: str, code: str) -> str | None:
    return next((why for (where, begins), why in NOT_RUN.items() if where == page and code.startswith(begins)), None)


TO_RUN = {
    page: [(kind, code) for kind, code in blocks_of(page) if kind in RUN and not reason(page, code)] for page in PAGES
}


def test_no_block_is_left_out_in_silence():
    """Catches a block of a kind that nothing runs, a command that stands outside of one, and a row that is over."""
    found = {(page, kind, code) for page in PAGES for kind, code in blocks_of(page)}
    assert [(page, kind) for page, kind, _ in found if kind not in RUN | SHOWN] == []
    texts = {page: path.read_text(encoding="utf-8") for page, path in PAGES.items()}
    assert [page for page, text in texts.items() if re.search(r"^ {4}(python|pip) ", text, re.M)] == []
    met = [row for row in NOT_RUN if any(page == row[0] and code.startswith(row[1]) for page, _, code in found)]
    assert met == [*NOT_RUN]


def test_commands_that_are_not_run_are_accepted():
    """Catches flags that do not exist."""
    codes = [code.replace("\\\n", " ") for page in PAGES for _, code in blocks_of(page) if reason(page, code)]
    commands = re.findall(r"^\S*python -m dsbd (.+)$", "\n".join(codes), re.M)
    assert len(commands) > 3
    for command in commands:
        parser().parse_args(shlex.split(command))


def test_the_text_of_a_forest_is_what_the_page_shows():
    """Catches a drawing as text that was cut, or is old."""
    shown = next(code for kind, code in blocks_of("docs/api/drawings.md") if kind == "text")
    assert shown == visualize.forest_text(ROOT / "assets/lessons/traces/3-one-iteration.json.gz", 0)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[] if page in QUICK else pytest.mark.slow) for page, codes in TO_RUN.items() if codes],
)
def test_the_blocks_of_a_page_run(page, request, tmp_path, monkeypatch):
    """Catches a name that is not defined, a file that is not there, a flag or an argument that no longer exists."""
    for folder in ("assets", "benchmarks", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {}
    for kind, code in TO_RUN[page]:
        for role, models in STAND_INS.items():
            for model in models:
                if model in code:
                    code = code.replace(model, request.getfixturevalue("toy_folders")[role])
        if kind == "bash":
            run_shell(code, tmp_path / "environment", monkeypatch)
        elif code.startswith(">>>"):
            examples = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
            assert doctest.DocTestRunner().run(examples, clear_globs=False).failed == 0
            names = examples.globs
        else:
            exec(compile(code, page, "exec"), names)


def run_shell(code: str, kept: Path, monkeypatch) -> None:
    """Run a block in a shell that stops at the first error; what it sets is there for the next block."""
    done = subprocess.run(["bash", "-ec", f"set -a\n{code}\nenv -0 > {kept}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for entry in kept.read_text(encoding="utf-8").split("\0"):
        name, _, value = entry.partition("=")
        if name.isidentifier():
            monkeypatch.setenv(name, value)
