"""Shows how far a long command is, on stderr: a bar on a terminal, else a plain line every few seconds."""

import sys
import time
from collections.abc import Iterable, Iterator
from threading import Event, Thread
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
SECONDS = 10.0
"""Between two lines."""


class ProgressLine:
    """Shows how far something is, during a ``with`` statement.

    Args:
        doing: what is done first.
        unit: what is counted; empty if nothing is counted.
    """

    def __init__(self, doing: str, unit: str = "") -> None:
        self._doing, self._unit, self._done = doing, unit, 0
        self._total: int | None = None
        self._started, self._over = time.monotonic(), Event()
        on_terminal = sys.stderr.isatty()
        style = None if unit else "{desc} {elapsed}"
        self._bar = tqdm(desc=doing, unit=unit, leave=False, disable=not on_terminal, bar_format=style)
        self._lines = Thread(target=self._say, daemon=True) if not on_terminal else None

    def __enter__(self) -> "ProgressLine":
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._lines is not None:
            self._lines.join()
        self._bar.close()

    def show(self, doing: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Show what is done now, how much is done, and of how much; what is left out stays as it was."""
        self._doing = self._doing if doing is None else doing
        self._done = self._done if done is None else done
        self._total = self._total if total is None else total
        if not self._bar.disable:
            self._bar.total = self._total
            self._bar.set_description(self._doing, refresh=False)
            self._bar.update(self._done - self._bar.n)

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items and count them."""
        for done, item in enumerate(items):
            self.show(done=done)
            yield item

    def _say(self) -> None:
        while not self._over.wait(SECONDS):
            of = "" if self._total is None else f" of {self._total}"
            count = f": {self._done}{of} {self._unit}s" if self._unit else ""
            print(f"dsbd: {self._doing}{count}, {time.monotonic() - self._started:.0f} s", file=sys.stderr, flush=True)
