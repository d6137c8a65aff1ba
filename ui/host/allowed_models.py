"""Which models visitors may load, as the host decides. The bundled pairs and the host's own are always allowed."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from dsbd.errors import PairError
from dsbd.models.loading import require_name
from dsbd.models.presets import PRESETS, Preset

LOCAL = ("", "127.0.0.1", "localhost", "::1")
ALL = "*"


class AllowedModels:
    """Hub ids and folders that visitors may load.

    Args:
        patterns: ids or folders, separated by commas; ``*`` stands for any text. Empty allows none.
    """

    def __init__(self, patterns: str = "") -> None:
        self._patterns = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __contains__(self, name: str) -> bool:
        place = str(Path(name).resolve()) if Path(name).is_dir() else name
        return any(fnmatchcase(place, pattern) for pattern in self._patterns)

    def require(self, name: str) -> str:
        """The name, if it may be loaded. Raises: PairError: it may not, or it names no model."""
        if name not in self:
            allowed = ", ".join(self._patterns) or "only the bundled pairs"
            raise PairError(
                f"the host of this page does not allow {name[:100]!r}; allowed: {allowed} (DSBD_ALLOWED_MODELS); "
                f"run the page on your own machine to load any model"
            )
        return require_name(name)

    def presets(self) -> list[Preset]:
        """The presets of which both models are allowed."""
        return [preset for preset in PRESETS if all(model.id in self for model in preset.models)]


def patterns_where(given: str | None, address: str | None, share: bool, environment: Mapping[str, str]) -> str:
    """What is allowed: what the host gave; else everything for a page of this machine only, and nothing elsewhere.

    Args:
        given: the host's patterns, None where there are none.
        address: that the page listens on; None is what the environment says.
        share: whether a public link leads to the page.
        environment: of the process.
    """
    if given is not None:
        return given
    listens = address if address is not None else environment.get("GRADIO_SERVER_NAME", "")
    is_private = listens in LOCAL and not share and not environment.get("SPACE_ID")
    return ALL if is_private else ""
