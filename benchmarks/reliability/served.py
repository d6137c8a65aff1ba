"""The page on a toy pair, as the long run calls it."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.toy_pair import toy_pair
from ui import Engine, build_page, launch_options
from ui.host.limits import Limits
from ui.host.options import Host

SMALL = Limits(max_new_tokens=12, max_nodes=64, max_beam_tokens=64, max_compared_tokens=64, uploads_per_hour=1_000_000)


@contextmanager
def served(engine: Engine | None = None) -> Iterator[str]:
    """A page on the toy pair, or of this engine: its address."""
    engine = engine or Engine(toy_pair(), SMALL)
    page = build_page(engine)
    options = launch_options(engine, Host(mcp=True), is_private=True)
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address
    finally:
        page.close()
