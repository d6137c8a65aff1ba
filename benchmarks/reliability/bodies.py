"""Bodies that no page would send, while another visitor asks all along whether the page is there."""

import logging
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx
from gradio.utils import get_upload_folder

from tests.ui.hostile import PATIENCE_SECONDS, SECRET, Call, Page, bodies

from .examples import many


class Tracebacks(logging.Handler):
    """What is logged with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        if record.exc_info:
            self.seen.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


class OtherVisitor:
    """Asks for /health all along, one answer after the other.

    How long it waits is counted in the process's own time on the processors, so that other work of the machine is left
    out. That depends on the machine all the same, so it is reported, and no fault.
    """

    def __init__(self, address: str) -> None:
        self.answers, self.longest_wait, self.failures = 0, 0.0, list[str]()
        self._address, self._is_over, self._thread = address, Event(), Thread(target=self._ask)

    def __enter__(self) -> "OtherVisitor":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx.Client(timeout=PATIENCE_SECONDS) as client:
            while not self._is_over.wait(0.02):
                began = time.process_time()
                try:
                    client.get(f"{self._address}health").raise_for_status()
                except httpx.HTTPError as error:
                    self.failures.append(str(error))
                self.answers, self.longest_wait = self.answers + 1, max(self.longest_wait, time.process_time() - began)


def send_bodies(address: str, count: int) -> dict[str, float]:
    """Send so many.

    Returns:
        How often each kind of answer came, how often the other visitor was answered, and the longest that it waited.

    Raises:
        AssertionError: at the first fault.
    """
    log, page = Tracebacks(), Page(address)
    with TemporaryDirectory() as folder, OtherVisitor(address) as other:
        secret = Path(folder) / f"{Path(folder).name}.txt"
        secret.write_text(SECRET, encoding="utf-8")

        def send(call: Call) -> str:
            kind = page.send(call)
            assert not other.failures, f"another visitor got no answer, {other.failures[0]}: {call}"
            assert not log.seen, f"{log.seen[0]}: {call}"
            return kind

        logging.getLogger().addHandler(log)
        try:
            answers = many(bodies(str(secret)), count, send)
        finally:
            logging.getLogger().removeHandler(log)
        assert not list(Path(get_upload_folder()).rglob(secret.name)), "a file of the machine was taken as an upload"
    if not count:
        return {}
    waited = {"answers to another visitor": other.answers, "its longest wait, processor seconds": other.longest_wait}
    return answers | waited
