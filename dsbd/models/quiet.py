"""Keeps libraries quiet in a ``with`` block, then as they were before. The switches belong to the whole process."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging as transformers_logging


@contextmanager
def without_progress() -> Iterator[None]:
    """Hide progress bars of transformers and the hub, and the hub's messages about retries."""
    hub = logging.getLogger("huggingface_hub")
    level, hidden, shown = hub.level, are_progress_bars_disabled(), transformers_logging.is_progress_bar_enabled()
    hub.setLevel(logging.ERROR)
    transformers_logging.disable_progress_bar()  # the hub's too
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
        (disable_progress_bars if hidden else enable_progress_bars)()
        hub.setLevel(level)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Hide warnings of Python and of transformers."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
