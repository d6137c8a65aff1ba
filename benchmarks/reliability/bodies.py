"""Bodies that no page would send; after each, the page still answers others."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

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


def send_bodies(address: str, count: int) -> dict[str, int]:
    """Send so many bodies. Returns: how often each kind of answer came. Raises: AssertionError at the first fault."""
    log, page = Tracebacks(), Page(address)
    with TemporaryDirectory() as folder, httpx.Client(timeout=PATIENCE_SECONDS) as other:
        secret = Path(folder) / f"{Path(folder).name}.txt"
        secret.write_text(SECRET, encoding="utf-8")

        def send(call: Call) -> str:
            kind = page.send(call)
            assert other.get(f"{address}health").is_success, f"another visitor got no answer: {call}"
            assert not log.seen, f"{log.seen[0]}: {call}"
            return kind

        logging.getLogger().addHandler(log)
        try:
            answers = many(bodies(str(secret)), count, send)
        finally:
            logging.getLogger().removeHandler(log)
        assert not list(Path(get_upload_folder()).rglob(secret.name)), "a file of the machine was taken as an upload"
    return answers
