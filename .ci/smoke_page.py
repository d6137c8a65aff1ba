"""Start the page as a user would, open it in Debian's chromium, and check that it draws a forest and decodes there.

Arguments: the command that starts the page; without one, ``app.py`` of this clone.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE_SECONDS = 120


def main() -> None:
    """Raise an error if the page does not open or shows no forest."""
    with served(sys.argv[1:]) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address, timeout=PATIENCE_SECONDS * 1000)
        page.wait_for_selector(".dsbd-node:not([hidden])", timeout=PATIENCE_SECONDS * 1000)
        page.click("#share > summary")
        page.click("[data-do=live]")
        page.wait_for_selector(".live-note:has-text('Decoded in this browser')", timeout=PATIENCE_SECONDS * 1000)
        browser.close()
        assert not errors, errors
    print("the page opens, draws a forest, and decodes in the browser")


@contextmanager
def served(command: Sequence[str] = ()) -> Iterator[str]:
    """Start the page by a command on a free port; yield its address; stop it at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"}
    started = [*command] or [sys.executable, str(ROOT / "app.py")]
    server = subprocess.Popen(started, cwd=tempfile.gettempdir(), env=environment)
    try:
        _wait_for(port, server)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, "the page stopped"
        try:
            urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            return
        except OSError:  # nothing listens yet, or the models are being loaded
            time.sleep(0.5)
    raise TimeoutError(f"the page at port {port} did not become ready")


if __name__ == "__main__":
    main()
