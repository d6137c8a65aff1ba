"""A stand-in for Hugging Face's ``spaces`` on ZeroGPU: what is decorated runs in another process.

It does what the wrappers of spaces 0.51 do to a generator: the process is forked once and kept, arguments and values
cross as pickles, an exception arrives as ``gr.Error`` with nothing but the name of its class, and nothing that the
process remembers comes back.
"""

import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import gradio as gr

_FORK = multiprocessing.get_context("fork")


class Lender(ModuleType):
    """Importable as ``spaces``. ``asked`` holds the seconds of every loan."""

    def __init__(self) -> None:
        super().__init__("spaces")
        self.__spec__ = type(sys.__spec__)("spaces", None)
        self.asked: list[int] = []
        self.processes: list[Any] = []

    def GPU(self, duration: Callable[..., int]) -> Callable[..., Any]:  # noqa: N802 - the name in spaces
        def decorate(task: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
            calls, answers = _FORK.Queue(), _FORK.Queue()
            process = None

            def lent(*given: Any) -> Iterator[Any]:
                nonlocal process
                self.asked.append(duration(*given))
                calls.put(pickle.dumps(given))
                if process is None:
                    process = _FORK.Process(target=_work, args=(task, calls, answers), daemon=True)
                    process.start()
                    self.processes.append(process)
                ended = False
                try:
                    while True:
                        kind, content = answers.get(timeout=120)
                        ended = kind == "end"
                        if ended:
                            return
                        if kind == "error":
                            raise gr.Error(content)
                        yield pickle.loads(content)
                finally:
                    while not ended:
                        ended = answers.get(timeout=120)[0] == "end"

            return lent

        return decorate

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.terminate()
            process.join(10)


def _work(task: Callable[..., Iterator[Any]], calls: Any, answers: Any) -> None:
    while True:
        given = pickle.loads(calls.get())
        try:
            for value in task(*given):
                answers.put(("value", pickle.dumps(value)))
        except Exception as error:
            answers.put(("error", type(error).__name__))
        answers.put(("end", b""))
