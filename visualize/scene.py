"""Where ``ui`` still finds the records of ``visualize.scenes``. This file goes once ``ui`` imports them from there."""

import sys
from types import ModuleType
from typing import Any

from visualize.scenes import Scene as Scene
from visualize.scenes import TokenScene as TokenScene


class _SceneModule(ModuleType):
    """``visualize.scene`` is the public function; where this module was loaded as well, it stands in for it."""

    def __call__(self, source: Any, *, language: str = "en") -> Scene:
        from visualize.source import scene_of

        return scene_of(source, language)


sys.modules[__name__].__class__ = _SceneModule
