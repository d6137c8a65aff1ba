"""Broken files and changed traces, uploaded to the page."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.toy_pair import toy_pair
from tests.ui.forked_reader import forked_reader, reading_by
from tests.ui.hostile import uploads
from ui import Engine
from ui.pairs.shelf import PAGE
from ui.play import shown

from .examples import many
from .served import SMALL


def send_uploads(count: int) -> dict[str, int]:
    """Uploads, as the page's handler takes them; each is read in a process of its own."""
    engine = Engine(toy_pair(), SMALL)
    with TemporaryDirectory() as folder, forked_reader() as forked, reading_by(forked):
        path = Path(folder) / "mine.json.gz"

        def send(content: bytes) -> str:
            path.write_bytes(content)
            frame = shown.bring_file(engine, PAGE, str(path))
            assert "Traceback" not in str(frame.problem)
            return "refused" if frame.problem else "shown"

        return many(uploads(), count, send)
