"""Bodies that no page would send, while another visitor asks all along whether the page is there."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx
from gradio.utils import get_upload_folder

from .strangers import PATIENCE_SECONDS, SECRET, Call, Page, bodies
from .trials import many


class Tracebacks(logging.Handler):
    """What is logged with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        if record.exc_info:
            self.seen.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


class OtherVisitor(Thread):
    """Asks for /health all along, one answer after the other."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.answers, self.failures = 0, list[str]()
        self._address, self._is_over = address, Event()

    def __enter__(self) -> "OtherVisitor":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        """Ask until the end."""
        with httpx.Client(timeout=PATIENCE_SECONDS) as client:
            while not self._is_over.wait(0.02):
                try:
                    client.get(f"{self._address}health").raise_for_status()
                except httpx.HTTPError as error:
                    self.failures.append(str(error))
                self.answers += 1


def send_bodies(address: str, count: int) -> dict[str, int]:
    """Send so many bodies. Returns: how often each kind of answer came. Raises: AssertionError at the first fault."""
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
    return answers | {"answers to another visitor": other.answers} if count else {}
