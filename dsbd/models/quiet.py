"""Keeps libraries quiet in a ``with`` block: progress bars or warnings are off, and afterwards as they were before.

The switches belong to the whole process. Threads inside at the same time share them: the first one in turns them off,
the last one out turns them back.
"""

import logging
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock

from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging as transformers_logging

_hub_log = logging.getLogger("huggingface_hub")


class _Quiet:
    """The first thread that enters calls ``switch_off``; the last one that leaves closes the stack that it returned."""

    def __init__(self, switch_off: Callable[[], ExitStack]) -> None:
        self._switch_off = switch_off
        self._lock, self._inside, self._back = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._back = self._switch_off()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._back.close()


def _hide_progress() -> ExitStack:
    back = ExitStack()
    back.callback(_hub_log.setLevel, _hub_log.level)
    back.callback(disable_progress_bars if are_progress_bars_disabled() else enable_progress_bars)
    if transformers_logging.is_progress_bar_enabled():
        back.callback(transformers_logging.enable_progress_bar)  # it enables the hub's too, so it runs first
    _hub_log.setLevel(logging.ERROR)
    transformers_logging.disable_progress_bar()
    return back


def _hide_warnings() -> ExitStack:
    back = ExitStack()
    back.callback(transformers_logging.set_verbosity, transformers_logging.get_verbosity())
    back.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    transformers_logging.set_verbosity_error()
    return back


without_progress = _Quiet(_hide_progress)
"""Hides progress bars of transformers and the hub, and the hub's messages about retries."""
without_warnings = _Quiet(_hide_warnings)
"""Hides warnings of Python and of transformers."""
