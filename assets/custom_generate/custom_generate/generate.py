"""Decodes with DSBD behind ``model.generate(custom_generate=...)``; the code is that of the package ``dsbd``."""

from typing import Any

import dsbd


def generate(model: Any, **options: Any) -> Any:
    """Decode as ``dsbd.generate`` does; ``draft_model`` is a smaller model with the same tokenizer, or None."""
    return model.generate(**options, custom_generate=dsbd.generate)
