"""One bounded process reads all files: a new interpreter for each, as the page starts it, takes half a second."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

from dsbd.bounded import BoundedProcess
from ui.traffic import uploads


class _Reader(BoundedProcess):
    folder: Path

    def call(self, seconds, function, *arguments):
        super().call(seconds, os.chdir, self.folder)
        return super().call(seconds, function, *arguments)


@contextmanager
def one_reader() -> Iterator[None]:
    """The page reads files in the same process, under its bounds."""
    with _Reader(uploads.MAX_MEMORY_BYTES) as reader:

        def at(memory_bytes: int, folder: Path):
            reader.folder = folder
            return nullcontext(reader)

        with mock.patch.object(uploads, "BoundedProcess", at):
            yield
