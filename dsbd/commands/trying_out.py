"""Resolving ``auto``, which says how far it is."""

from typing import TYPE_CHECKING

from dsbd.progress import Progress

if TYPE_CHECKING:
    from dsbd.models.pair import Pair
    from dsbd.settings import DecodingSettings


def try_out_forests(pair: "Pair", prompt: str, settings: "DecodingSettings", chat: bool = False) -> None:
    """Make the plan for the fields that are ``auto``, if any is; a decode with these settings then finds it."""
    from dsbd.api import planning

    with Progress("trying out forests", "trial") as progress:
        for done, step in enumerate(planning(pair, prompt, settings, chat=chat), 1):
            progress.show(done=done, total=step.total)
