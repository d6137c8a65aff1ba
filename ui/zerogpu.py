"""Hugging Face ZeroGPU: a GPU is lent to one call at a time, for a number of seconds that the call asks for."""

import importlib.util
from collections.abc import Callable, Generator
from typing import Any

import gradio as gr
import torch

from dsbd.errors import PageError

Task = Callable[..., Generator[Any, None, None]]


def on_gpu(task: Task) -> Task:
    """The task with a lent GPU where there is a lender, and as it is everywhere else.

    Args:
        task: its first argument says how many seconds it may take.

    Raises:
        PageError: in the call, where nothing is lent; the message is the lender's own, such as how much time is left.
    """
    if importlib.util.find_spec("spaces") is None:
        return task
    import spaces

    alone = _on_one_thread(task)
    lent: Task = spaces.GPU(duration=lambda seconds, *_: seconds)(alone)
    return task if lent is alone else _with_words(lent)  # the package gives it back where the host lends nothing


def _on_one_thread(task: Task) -> Task:
    """The lender forks a process for the task, and the threads of OpenMP do not survive a fork: using them hangs."""

    def called(*given: Any) -> Generator[Any, None, None]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield from task(*given)
        finally:
            torch.set_num_threads(threads)

    return called


def _with_words(lent: Task) -> Task:
    def called(*given: Any) -> Generator[Any, None, None]:
        try:
            yield from lent(*given)
        except gr.Error as error:
            raise PageError(str(error.message)) from None

    return called
