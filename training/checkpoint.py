"""Writes checkpoints that are never incomplete."""

from pathlib import Path

import torch


def save_checkpoint(path: Path, state: object) -> None:
    """Write `state` beside `path`, then rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def load_checkpoint(path: Path) -> dict:
    """Return what `save_checkpoint` wrote."""
    return torch.load(path, map_location="cpu", weights_only=False)
