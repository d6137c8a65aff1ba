"""The house: import arrows run down only, names are there, nothing heavy is pulled in."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dsbd

ROOT = Path(__file__).resolve().parents[1]
PYTHON_FILES = sorted(
    path.relative_to(ROOT) for folder in ("dsbd", "visualize", "ui") for path in (ROOT / folder).rglob("*.py")
)

FLOORS = [
    ("dsbd.errors", "dsbd.version"),
    ("dsbd.settings", "dsbd.assets", "dsbd.results", "dsbd.depth", "dsbd.topk"),
    ("dsbd.law",),
    ("dsbd.methods", "dsbd.next_tokens"),
    ("dsbd.models",),
    ("dsbd.draft",),
    ("dsbd.score",),
    ("dsbd.clock", "dsbd.observer"),
    ("dsbd.session",),
    ("dsbd.decoder",),
    ("dsbd.auto.plan", "dsbd.auto"),
    ("dsbd.auto.trials",),
    ("dsbd.tracing",),
    ("dsbd.api",),
    ("dsbd.measure",),
    ("dsbd.commands",),
    ("dsbd.__main__",),
]
"""From the ground up; a module imports from its own floor or a lower one."""


def imports_of(path: Path) -> set[str]:
    """Modules a file imports at run time, deferred imports included, those for type checkers left out."""
    names = set()
    tree = ast.parse((ROOT / path).read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def module_of(path: Path) -> str:
    name = ".".join(path.with_suffix("").parts)
    return name.removesuffix(".__init__")


def floor_of(module: str) -> int | None:
    matches = [
        (len(name), height)
        for height, names in enumerate(FLOORS)
        for name in names
        if module == name or module.startswith(name + ".")
    ]
    return max(matches)[1] if matches else None


@pytest.mark.parametrize("path", PYTHON_FILES, ids=str)
def test_import_arrows_run_down(path):
    """An arrow upwards makes two rooms one."""
    module, imported = module_of(path), imports_of(path)
    tops = {name.split(".")[0] for name in imported}
    if module.startswith("dsbd"):
        allowed = {"visualize"} if module.startswith("dsbd.commands.") else set()
        assert not tops & ({"plotly", "gradio", "visualize", "ui", "networkx"} - allowed)
    if module.startswith("visualize"):
        assert not tops & {"torch", "transformers", "gradio", "ui"}
        assert {name for name in imported if name.startswith("dsbd.")} <= {
            "dsbd.errors", "dsbd.settings", "dsbd.tracing.records", "dsbd.tracing.trace", "dsbd.assets"
        }  # fmt: skip
    height = floor_of(module)
    if module.startswith("dsbd.") and height is not None:
        for name in imported:
            other = floor_of(name)
            assert other is None or other <= height, f"{module} imports {name}, which is above it"


def test_every_module_has_a_floor():
    """A new module must say where it stands."""
    homeless = [str(path) for path in PYTHON_FILES if path.parts[0] == "dsbd" and floor_of(module_of(path)) is None]
    assert homeless == ["dsbd/__init__.py"]


def test_reading_traces_and_drawing_needs_no_torch():
    """A teacher's notebook opens a trace without loading torch, gradio or transformers."""
    code = (
        "import sys, dsbd, visualize, dsbd.tracing.trace, dsbd.tracing.audit;"
        "visualize.forest_figure; dsbd.Trace; dsbd.verify_trace;"
        "print(sorted({'torch', 'transformers', 'gradio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_every_exported_name_is_there():
    for name in dsbd.__all__:
        assert getattr(dsbd, name) is not None
    with pytest.raises(AttributeError):
        _ = dsbd.does_not_exist


def test_sharded_weights_fit_a_plain_push():
    """A Space refuses plain files over 10 MB; the pair as a whole stays under 40 MB."""
    files = [path for path in (ROOT / "assets").rglob("*") if path.is_file()]
    assert all(path.stat().st_size < 9_000_000 for path in files)
    assert sum(path.stat().st_size for path in (ROOT / "assets" / "models").rglob("*") if path.is_file()) < 40_000_000


def test_remote_code_is_never_trusted():
    for path in PYTHON_FILES:
        assert "trust_remote_code" not in (ROOT / path).read_text()
