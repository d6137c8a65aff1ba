"""The page: forms, handlers and the state of each visitor.

Names are loaded when they are first used, so that a wrong flag is refused before Gradio is imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import Engine as Engine
    from .page import build_page as build_page
    from .serving import launch_options as launch_options

_HOMES = {"Engine": "engine", "build_page": "page", "launch_options": "serving"}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
