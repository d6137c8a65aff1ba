"""A small server at the address of the page, from the first second until the page itself takes the address over.

It shows a recorded decode, which needs no model, and says what the start does. It loads neither Gradio nor torch.
"""

import errno
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dsbd.assets import asset_path
from dsbd.errors import PageError
from dsbd.tracing.trace import Trace
from dsbd.version import __version__
from visualize.pages.compressed import packed_json
from visualize.pages.document import Kit, document, packed_element, script
from visualize.pages.viewer_parts import carried_kit

from ..host.listening import PORT_SETTING
from ..parts.files import FOLDER, read
from ..parts.sharing import TITLE

FIRST_PORT, PORTS = 7860, 100
STATE = f"{FOLDER}/starting"
"""Where the page asks how far the start is; once the page itself is there, this address is not."""


class Door(ThreadingHTTPServer):
    """What the start says, on the terminal and at the address."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        address = host.strip("[]"), port
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        super().__init__(address, _Answers)
        self.port: int = self.server_address[1]
        self._since = time.monotonic()
        self._doing = "Starting"

    def say(self, doing: str) -> None:
        """Say what the start does now."""
        self._doing = doing
        print(f"{self._seconds:5.1f} s  {doing} …", flush=True)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._since

    def state(self) -> bytes:
        """Return how far the start is, in the form of the page's own health address."""
        state = {"status": "starting", "doing": self._doing, "seconds": round(self._seconds), "version": __version__}
        return json.dumps(state).encode()

    @cached_property
    def page(self) -> bytes:
        """The page with the recorded decode."""
        return waiting_page().encode()

    def open(self) -> None:
        """Answer from now on."""
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Leave the address to the page."""
        self.shutdown()
        self.server_close()


@contextmanager
def open_door(host: str, port: int | None) -> Iterator[Door]:
    """Answer at the address of the page until the block ends, or until :meth:`Door.close`.

    Without a port the first free one is taken, as Gradio does. Raises: PageError: there is none, or the host is not of
    this machine.
    """
    name = host or "127.0.0.1"
    first = int(os.environ.get(PORT_SETTING) or FIRST_PORT)
    for one in [port] if port is not None else range(first, first + PORTS):
        try:
            door = Door(name, one)
        except OverflowError:  # beyond the highest port
            continue
        except (OSError, UnicodeError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            raise PageError(
                f"the page cannot listen on {name[:60]!r}, port {one} ({error}); --host takes 127.0.0.1 (this machine "
                f"only), 0.0.0.0 (everybody who can reach it), and the names and addresses of this machine"
            ) from None
        break
    else:
        taken = "no port is free" if port is None else f"port {port} is taken"
        raise PageError(f"the page cannot be served: {taken}; choose another --port or --host")
    door.open()
    address = f"[{name}]" if ":" in name and not name.startswith("[") else name
    print(f"DSBD starts at http://{address}:{door.port} and shows a recorded decode there meanwhile", flush=True)
    try:
        yield door
    finally:
        door.close()


def waiting_page() -> str:
    """Return the page that is shown meanwhile: the form, and the first recorded decode in the viewer."""
    shown = Trace.load(sorted(asset_path("traces").glob("*.json.gz"))[0])
    kit = carried_kit("shared", read("starting/starting.css"))
    asking = Kit(kit.head, kit.body, asks=True)
    body = [
        f"<main>{read('starting/starting.html').format(prompt=escape(shown.prompt.text))}"
        '<div data-scene="dsbd-scene" id="viewer" data-address></div></main>',
        packed_element("dsbd-scene", packed_json(shown.to_dict())),
        asking.body,
        script(read("starting/starting.js")),
    ]
    return document(TITLE, body, asking)


class _Answers(BaseHTTPRequestHandler):
    """Answers with the page, and says how far the start is: to the page, and at the health addresses."""

    server: Door

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == f"/{STATE}":
            self._answer(200, "application/json", self.server.state())
        elif path.endswith("/health"):
            self._answer(503, "application/json", self.server.state())
        elif path == "/":
            self._answer(200, "text/html; charset=utf-8", self.server.page)
        else:
            self._answer(503, "text/plain; charset=utf-8", b"The page is starting.")

    do_HEAD = do_GET

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if status == 503:
            self.send_header("Retry-After", "2")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the page writes no line for each request either."""
