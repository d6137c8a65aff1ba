"""Resolving ``auto`` with a progress bar on a terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsbd.models.pair import Pair
    from dsbd.settings import DecodingSettings


def try_out_forests(pair: "Pair", prompt: str, settings: "DecodingSettings", chat: bool = False) -> None:
    """Make the plan for the fields that are ``auto``, if any is; a decode with these settings then finds it."""
    from tqdm import tqdm

    from dsbd.api import planning

    with tqdm(desc="trying out forests", leave=False, disable=None) as bar:
        for step in planning(pair, prompt, settings, chat=chat):
            bar.total = step.total
            bar.update()
