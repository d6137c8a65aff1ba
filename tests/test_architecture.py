"""Imports run down the drawing in docs/architecture.md only, never in a circle, and pull in nothing heavy."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx
import pytest

import dsbd
import visualize
from dsbd.util import BUNDLED_PAIRS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("dsbd", "visualize")
FILES = [ROOT / "app.py", *(path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py")))]
NEVER = {
    "dsbd": {"plotly", "gradio", "networkx"},
    **{
        f"dsbd.{package}": {"torch", "transformers"}
        for package in ("verification", "tracing", "bench.records", "bench.tasks")
    },
    "visualize": {"torch", "transformers", "gradio"},
}
"""Packages that a room and all rooms in it never import; the page may import Gradio."""
PLAIN = "errors util methods settings results tracing bench.records bench.statistics"
DRAWN_FROM = [f"dsbd.{name}" for name in PLAIN.split()]
"""What drawings may read of the decoder: plain data, and nothing that decodes. The page decodes."""


@cache
def floors() -> list[list[str]]:
    """Return the places of each line of the drawing, from the top down, as dotted names; ``dsbd.*`` is all the rest."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = re.search(r"<!-- architecture -->\s*```\w*\n(.*?)```", text, re.S)
    found, package = [], ""
    for line in drawing[1].splitlines():
        indent, names = re.match(r"( *)(\S+(?: \S+)*)", line).groups()
        places = [name.strip("/").removesuffix(".py").replace("/", ".") for name in names.split()]
        package = package if indent else f"{places[0]}."
        found.append([package + place for place in places] if indent else places)
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def imports_of(module: str) -> set[str]:
    """Return the modules that a module imports when it runs, late imports too; those for type checkers may run up."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    names = set()
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {inner if (inner := f"{base}.{alias.name}") in MODULES else base for alias in node.names}
    return names


IMPORTS = {module: imports_of(module) for module in MODULES}


def is_in(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place.removesuffix('.*')}.")


def floor_of(module: str) -> int:
    """Return the line of the drawing that a module stands on: its own, its folder's, or that of ``*``."""
    places = [(name, line) for line, names in enumerate(floors()) for name in names if is_in(module, name)]
    found = [(name[-1] != "*", len(name), line) for name, line in places if name == module or name not in PACKAGES]
    assert found, f"{module} is not in the drawing"
    return max(found)[2]


def test_the_drawing_names_what_is_there():
    """Catches a place that no longer exists, and a drawing that grows beyond a look."""
    places = [name for names in floors() for name in names if not name.endswith("*")]
    assert [name for name in places if name not in MODULES and not (ROOT / name.replace(".", "/")).is_dir()] == []
    assert len(floors()) <= 35


def test_import_arrows_run_down():
    """Catches an import of a room above."""
    found = [(module, name) for module, names in IMPORTS.items() for name in names & set(MODULES) - set(PACKAGES)]
    assert [f"{module} imports {name}" for module, name in found if floor_of(name) < floor_of(module)] == []


def test_nothing_imports_in_a_circle():
    """Catches modules of one line that import each other in both directions."""
    graph = networkx.DiGraph([(module, name) for module, found in IMPORTS.items() for name in found & set(MODULES)])
    assert list(networkx.simple_cycles(graph)) == []


def test_drawings_read_plain_data():
    """Catches a drawing that runs the decoder."""
    for module in (name for name in MODULES if is_in(name, "visualize") and not is_in(name, "visualize.page")):
        read = {name for name in IMPORTS[module] if name.startswith("dsbd")}
        assert [name for name in read if not any(is_in(name, place) for place in DRAWN_FROM)] == [], module


@pytest.mark.parametrize("room", NEVER)
def test_nothing_heavy_is_imported(room):
    """Catches an import of torch or gradio where a teacher who opens a trace does not have it."""
    for module, imported in IMPORTS.items():
        if is_in(module, room) and not is_in(module, "visualize.page") and not is_in(module, "dsbd.commands"):
            assert not {name.split(".")[0] for name in imported} & NEVER[room], module


def test_reading_and_drawing_a_trace_loads_no_model_library():
    """Catches a drawing, the audit, a command's help or the page's first answer that loads a model library."""
    names = "; ".join(f"visualize.{name}" for name in visualize.__all__)
    code = f"import sys, dsbd, visualize; {names}; dsbd.Trace; dsbd.verify_trace; "
    code += "from dsbd.cli import parser; parser(); import visualize.page.serve; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not {"torch", "gradio", "transformers"} & set(done.stdout.split())


def test_without_the_extra_page_a_forest_is_drawn_and_a_figure_says_what_it_needs():
    """Catches an SVG or a page that needs Plotly, one that loads what opens addresses, and a traceback."""
    code = """import sys
sys.modules.update(dict.fromkeys(("plotly", "gradio", "pandas", "starlette")))
import visualize
assert "<svg" in visualize.forest_svg("assets/traces/1-dynamic-width.json.gz")
assert not {"ssl", "urllib.request", "http.client"} & {*sys.modules}
visualize.export_html, visualize.show
try:
    visualize.decode_figure
except ImportError as error:
    print(error)
from dsbd.cli import main
sys.exit(main(["page"]))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.endswith("; run: pip install 'dsbd[page]'\n"), done.stderr
    assert done.stderr.endswith("; run: pip install 'dsbd[page]'\n")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("package", [dsbd, visualize], ids=lambda package: package.__name__)
def test_every_public_name_is_there(package):
    """Catches a name of ``__all__`` loaded from elsewhere than its type, not listed, or not there."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (typed,) = (node.body for node in tree.body if isinstance(node, ast.If))
    own = f"{package.__name__}."
    homes = {alias.name: line.module.removeprefix(own) for line in typed for alias in line.names}
    assert homes == {name: home.removeprefix(own) for name, home in package._HOME.items()}
    assert sorted(package.__all__) == sorted(homes)
    assert all(hasattr(package, name) for name in homes)
    assert not hasattr(package, "nothing")


def test_the_wheel_has_every_package():
    """Catches a package that is missing in the list of pyproject.toml, which is written by hand."""
    table = re.search(r"^packages = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S)
    listed = set(re.findall(r'"([\w.]+)"', table[1]))
    folders = {module_of(path) for path in FILES if path.name == "__init__.py"}
    assert folders == listed - {"dsbd.assets"}


def test_the_wheel_has_every_file_that_visualize_reads():
    """Catches a template or table that a clone has and an installed package has not."""
    patterns = re.search(r"^visualize = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)[1]
    room = ROOT / "visualize"
    shipped = {path for pattern in re.findall(r'"(.*?)"', patterns) for path in room.glob(pattern)}
    files = {path for path in room.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}
    assert files - shipped == set()


def test_sharded_weights_fit_a_plain_push():
    """Catches a file over 10 MB, which a Space refuses, and a bundled pair of more than 40 MB."""
    sizes = {path: path.stat().st_size for path in (ROOT / "assets").rglob("*") if path.is_file()}
    assert max(sizes.values()) < 9_000_000
    for pair in BUNDLED_PAIRS:
        assert sum(size for path, size in sizes.items() if ROOT / "assets/models" / pair in path.parents) < 40_000_000


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
