"""Where the bundled files are: beside the package in a clone, ``dsbd_assets`` once installed."""

from pathlib import Path


def asset_path(name: str = "") -> Path:
    """Return the path of a bundled file or folder, whether it exists or not."""
    beside = Path(__file__).resolve().parents[1]
    clone = beside / "assets"
    return (clone if clone.is_dir() else beside / "dsbd_assets") / name
