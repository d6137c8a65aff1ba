"""Public names: what type checkers read and what runs name the same things."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def named_for_type_checkers(package: str) -> dict[str, tuple[str, str]]:
    """Return {public name: (module, name there)}, as imported below ``if TYPE_CHECKING``."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    imports = [entry for node in guarded for entry in node.body if isinstance(entry, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (str(entry.module), alias.name)
        for entry in imports
        for alias in entry.names
    }  # fmt: skip


@pytest.mark.parametrize("package", ["dsbd", "visualize"])
def test_each_public_name_is_the_same_for_type_checkers_and_at_run_time(package):
    """Catches a name that is in one list only, or that the two lists take from different places."""
    module, named = import_module(package), named_for_type_checkers(package)
    assert sorted(named) == module.__all__
    for public, (home, name) in named.items():
        assert getattr(module, public) is getattr(import_module(home), name), public


@pytest.mark.parametrize("package", ["dsbd", "visualize"])
def test_a_name_that_is_not_public_is_refused(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = import_module(package).nothing
