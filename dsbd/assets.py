"""Where the bundled files are: beside the package in a clone, ``dsbd_assets`` once installed."""

from pathlib import Path

BUNDLED_PAIRS = ("stories", "sql")
"""The bundled pairs, the default one first: folders of ``assets/models``, each with a model card."""


def asset_path(name: str = "") -> Path:
    """Return the path of a bundled file or folder, whether it exists or not."""
    beside = Path(__file__).resolve().parents[1]
    clone = beside / "assets"
    return (clone if clone.is_dir() else beside / "dsbd_assets") / name
