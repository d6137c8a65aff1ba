"""Hugging Face ZeroGPU: a GPU is lent to one call at a time, for a number of seconds that the call asks for."""

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr
import torch

from dsbd.errors import PageError

Task = Callable[..., Iterator[Any]]


def on_gpu(duration: Callable[..., int]) -> Callable[[Task], Task]:
    """Decorator: the call runs with the lent GPU where there is a lender, and as it is everywhere else.

    Args:
        duration: seconds the call may take, from the call's own arguments.

    Raises:
        PageError: in the call, where nothing is lent; the message is the lender's own, such as how much time is left.
    """
    if importlib.util.find_spec("spaces") is None:
        return lambda task: task
    import spaces

    decorate: Callable[[Task], Task] = spaces.GPU(duration=duration)
    return lambda task: _with_words(decorate(_on_one_thread(task)))


def _on_one_thread(task: Task) -> Task:
    """The lender forks a process for the task, and the threads of OpenMP do not survive a fork: using them hangs."""

    def called(*given: Any) -> Iterator[Any]:
        torch.set_num_threads(1)
        yield from task(*given)

    return called


def _with_words(lent: Task) -> Task:
    def called(*given: Any) -> Iterator[Any]:
        try:
            yield from lent(*given)
        except gr.Error as error:
            raise PageError(str(error.message)) from None

    return called
