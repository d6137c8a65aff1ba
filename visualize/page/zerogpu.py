"""Hugging Face ZeroGPU: it lends a GPU to one call at a time, for the number of seconds that the call asks for."""

import importlib.util
from collections.abc import Callable, Generator
from typing import Any

import gradio as gr

from dsbd.errors import PageError
from dsbd.machine import torch_threads

Task = Callable[..., Generator[Any, None, None]]


def on_gpu(task: Task) -> Task:
    """The task on a GPU of ZeroGPU for as many seconds as its first argument says; elsewhere the task itself.

    Raises: PageError: in the call, if ZeroGPU lends nothing; the message is that of ZeroGPU.
    """
    if importlib.util.find_spec("spaces") is None:
        return task
    import spaces

    alone = _on_one_thread(task)
    lent: Task = spaces.GPU(duration=lambda seconds, *_: seconds)(alone)
    return task if lent is alone else _with_words(lent)  # without ZeroGPU the package returns the task itself


def _on_one_thread(task: Task) -> Task:
    """ZeroGPU forks a process for the task. The threads of OpenMP do not survive a fork, and using them would hang."""

    def called(*arguments: Any) -> Generator[Any, None, None]:
        with torch_threads(1):
            yield from task(*arguments)

    return called


def _with_words(lent: Task) -> Task:
    def called(*arguments: Any) -> Generator[Any, None, None]:
        try:
            yield from lent(*arguments)
        except gr.Error as error:
            raise PageError(str(error.message)) from None

    return called
