"""The house: import arrows run down only, nothing runs in a circle, and nothing heavy is pulled in.

The floors stand in one place, the drawing in docs/house.md. These tests read it.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx
import pytest

import visualize
from dsbd.util import BUNDLED_PAIRS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("dsbd", "visualize", "ui")
FILES = [ROOT / "app.py", *(path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py")))]

NEVER = {
    "dsbd": {"plotly", "gradio", "networkx"},
    "dsbd.law": {"torch", "transformers"},
    "dsbd.tracing": {"torch", "transformers"},
    "dsbd.contest.records": {"torch", "transformers"},
    "dsbd.contest.tasks": {"torch", "transformers"},
    "visualize": {"torch", "transformers", "gradio"},
}
"""Packages that a room and all rooms in it never import."""


@cache
def floors() -> list[list[str]]:
    """Return the rooms and modules of each line of the drawing, from the top down, as dotted names."""
    text = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    drawing = re.search(r"<!-- house -->\s*```\w*\n(.*?)```", text, re.S)
    assert drawing, "docs/house.md has no drawing of the house"
    found, package = [], ""
    for line in drawing[1].splitlines():
        indent, names = re.match(r"( *)((?:[\w./]+ )*[\w./]+)", line).groups()
        places = [name.strip("/").removesuffix(".py").replace("/", ".") for name in names.split()]
        if indent:
            found.append([f"{package}.{place}" for place in places])
        elif line.split()[0].endswith("/") and places[0] in PACKAGES:
            package = places[0]
            found.append(places)
        else:
            found.append(places)
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def imports_of(module: str) -> set[str]:
    """Return the modules that a module imports, late imports and those for type checkers too."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                names.add(inner if inner in MODULES else base)
    return names


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {module: imports_of(module) for module in MODULES}


def room_of(module: str) -> tuple[int, str] | None:
    """Return the height above the ground and the name of the room that a module stands in."""
    rooms = [(name, -height) for height, names in enumerate(floors()) for name in names]
    found = [(name, height) for name, height in rooms if module == name or module.startswith(f"{name}.")]
    if not found:
        return None
    name, height = max(found, key=lambda room: len(room[0]))
    return height, name


def test_every_module_stands_on_a_floor_of_the_drawing():
    """Catches a module that is not in the drawing, and a drawing that names a module that no longer exists."""
    assert [module for module in MODULES if room_of(module) is None] == []
    rooms = {name for names in floors() for name in names}
    folders = {module_of(path / "x").rpartition(".")[0] for path in ROOT.rglob("*") if path.is_dir()}
    assert rooms <= set(MODULES) | folders


def test_import_arrows_run_down():
    """Catches an import of a room above."""
    wrong = []
    for module, imported in imports().items():
        height, room = room_of(module)
        for name in imported & set(MODULES):
            other_height, other_room = room_of(name)
            if name not in PACKAGES and other_room != room and other_height >= height:
                wrong.append(f"{module} imports {name}, which is not below it")
    assert wrong == []


def test_nothing_imports_in_a_circle():
    """Catches modules of one room that import each other in both directions."""
    graph = networkx.DiGraph([(module, name) for module, found in imports().items() for name in found & set(MODULES)])
    assert list(networkx.simple_cycles(graph)) == []


RECORDS = {"dsbd.contest.records", "dsbd.contest.statistics"}
DRAWN_FROM = {
    "dsbd.errors", "dsbd.util", "dsbd.methods", "dsbd.settings", "dsbd.results", "dsbd.tracing",
    *RECORDS,
}  # fmt: skip
"""What drawings may read of the decoder: plain data, and nothing that decodes."""


def test_drawings_read_plain_data():
    """Catches a drawing that runs the decoder."""
    for module, imported in imports().items():
        if module.startswith("visualize"):
            for name in imported:
                allowed = any(name == place or name.startswith(f"{place}.") for place in DRAWN_FROM)
                assert allowed or not name.startswith("dsbd"), f"{module} imports {name}"


@pytest.mark.parametrize("room", NEVER)
def test_nothing_heavy_is_imported(room):
    """Catches an import of torch or gradio where a teacher who opens a trace does not have it."""
    for module, imported in imports().items():
        if (module == room or module.startswith(f"{room}.")) and not module.startswith("dsbd.commands"):
            assert not {name.split(".")[0] for name in imported} & NEVER[room], module


def test_reading_and_drawing_a_trace_loads_no_model_library():
    """Catches a drawing, or the audit, that loads a model library: each runs in a new process."""
    names = [f"visualize.{name}" for name in visualize.__all__]
    code = (
        f"import sys, dsbd, visualize; {'; '.join(names)}; dsbd.Trace; dsbd.verify_trace;"
        "print(sorted({'torch', 'gradio', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_the_wheel_has_every_package():
    """Catches a package that is missing in the list of pyproject.toml, which is written by hand."""
    table = re.search(r"^packages = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S)
    listed = set(re.findall(r'"([\w.]+)"', table[1]))
    folders = {module_of(path) for path in FILES if path.name == "__init__.py"}
    assert folders == listed - {"dsbd_assets"}


def test_sharded_weights_fit_a_plain_push():
    """Catches a file over 10 MB, which a Space refuses, and a bundled pair of more than 40 MB."""
    files = [path for path in (ROOT / "assets").rglob("*") if path.is_file()]
    assert all(path.stat().st_size < 9_000_000 for path in files)
    for pair in BUNDLED_PAIRS:
        folder = ROOT / "assets" / "models" / pair
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 40_000_000


def test_code_of_a_model_is_never_trusted():
    """Catches a call that says yes, and one that says nothing: transformers then asks whoever sits at the keyboard."""
    wrong = []
    for path in ROOT.rglob("*.py"):
        text = "" if {".venv", "node_modules", "build"} & set(path.parts) else path.read_text(encoding="utf-8")
        assert not re.search(r"trust_remote_code\W+True", text), path
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            said = {word.arg: ast.unparse(word.value) for word in call.keywords}.get("trust_remote_code")
            asks = re.fullmatch(r"(.*\.)?Auto\w+\.from_(pretrained|config)", ast.unparse(call.func))
            if said not in (None, "False") or (asks and said is None):
                wrong.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert wrong == []
