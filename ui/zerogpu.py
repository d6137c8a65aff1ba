"""Hugging Face ZeroGPU: a GPU is lent to one call at a time, for a number of seconds that the call asks for."""

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def on_gpu(duration: Callable[..., int]) -> Callable[[Function], Function]:
    """Decorator: the call runs with the lent GPU where there is a lender, and as it is everywhere else.

    Args:
        duration: seconds the call may take, from the call's own arguments.
    """
    if importlib.util.find_spec("spaces") is None:
        return lambda function: function
    import spaces

    decorate: Callable[[Function], Function] = spaces.GPU(duration=duration)
    return decorate
