"""The page: forms, handlers and the state of each visitor. It draws nothing itself and decides nothing."""

from ui.engine import Engine
from ui.page import build_page
from ui.serving import launch_options

__all__ = ["Engine", "build_page", "launch_options"]
