"""The models that visitors may load. The bundled pairs and the page's pair are always allowed."""

from fnmatch import fnmatchcase
from pathlib import Path

from dsbd.errors import PairError
from dsbd.models.loading import require_name

ALL = "*"


class AllowedModels:
    """Hub ids and folders that visitors may load; ``*`` stands for any text. Without patterns there are none."""

    def __init__(self, patterns: str = "") -> None:
        self._patterns = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __contains__(self, name: str) -> bool:
        place = str(Path(name).resolve()) if Path(name).is_dir() else name
        return any(fnmatchcase(place, pattern) for pattern in self._patterns)

    def require(self, name: str) -> str:
        """The name, if it may be loaded. Raises: PairError: it is not allowed, or it names no model."""
        if name not in self:
            allowed = ", ".join(self._patterns) or "only the bundled pairs"
            raise PairError(
                f"the host of this page does not allow {name[:100]!r}; allowed: {allowed} (DSBD_ALLOWED_MODELS); "
                f"run the page on your own machine to load any model"
            )
        return require_name(name)
