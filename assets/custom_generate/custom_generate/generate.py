"""Decodes with DSBD behind ``model.generate(custom_generate=...)``; the code is that of the package ``dsbd``."""

from functools import partial
from typing import Any

import dsbd


def generate(model: Any, streamer: Any = None, **asked: Any) -> Any:
    """Decode as ``dsbd.generate`` does; ``draft_model`` is a smaller model with the same tokenizer, or None."""
    return model.generate(**asked, custom_generate=partial(dsbd.generate, streamer=streamer))
