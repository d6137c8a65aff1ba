"""``page``: open the page in a browser."""

import argparse
import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dsbd.commands.output import OK

PACKAGE = "dsbd_page"


def add(commands: Any) -> None:
    """Add the subcommand and its flags."""
    summary = "open the page in a browser"
    parser = commands.add_parser("page", help=summary, description=summary, allow_abbrev=False)
    parser.set_defaults(run=run)
    page_module("start").add_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Serve the page until it is stopped. Returns the exit code."""
    page_module("start").serve(parsed)
    return OK


def page_module(name: str) -> ModuleType:
    """A module of the page that stands beside this package: the folder ``ui`` in a clone, ``dsbd_page`` once installed.

    It is loaded from its place, so that a package ``ui`` of another project is never taken for it.
    """
    if PACKAGE not in sys.modules:
        beside = Path(__file__).resolve().parents[2]
        folder = beside / "ui" if (beside / "ui" / "start.py").is_file() else beside / PACKAGE
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None, "the page comes with this package"
        assert spec.loader is not None, "a file of Python is loaded from its place"
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return import_module(f"{PACKAGE}.{name}")
