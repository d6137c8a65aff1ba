"""Writes hand-outs into the documentation site, and checks what it loads: ``python .ci/docs/finish_site.py SITE``.

``SITE/handouts/NAME.pdf`` is a lesson for the class and shows no answer, ``NAME-teacher.pdf`` shows all. The check
fails if a page loads a script, style, font or picture from another address, or one that does not exist. Needs
playwright and ``chromium``.
"""

import re
import shutil
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import visualize  # noqa: E402 - the package of this clone

TOLD = "[...document.querySelectorAll('.answer')].filter((one) => one.checkVisibility()).length"
ASKED = "document.querySelectorAll('.options').length"


def main(site: Path) -> int:
    """Write the hand-outs, then print what the pages load that is not theirs; return the exit code."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print_handouts(browser, site / "handouts")
        wrong = loaded_elsewhere(browser, site)
        browser.close()
    print("\n".join(wrong) or "the pages ask no other address for anything")
    return 1 if wrong else 0


def loaded_elsewhere(browser: Browser, site: Path) -> list[str]:
    """Return what pages ask of other addresses, and what they ask of the site that is not there."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        home, wrong = f"http://127.0.0.1:{server.server_port}/", list[str]()
        page = browser.new_page()
        page.on("request", lambda asked: asked.url.startswith((home, "data:", "blob:")) or wrong.append(asked.url))
        page.on("response", lambda answer: answer.status < 400 or wrong.append(answer.url))
        for file in sorted(site.rglob("*.html")):
            page.goto(home + file.relative_to(site).as_posix(), wait_until="networkidle")
        server.shutdown()
    return wrong


def print_handouts(browser: Browser, output: Path) -> None:
    """Write two files for each lesson. Raises: SystemExit if a file has no pages or the wrong answers."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for lesson in sorted((ROOT / "assets" / "lessons").glob("*.md")):
            page_file = Path(folder) / f"{lesson.stem}.html"
            visualize.export_lesson(lesson, page_file)
            for name, fragment in ((lesson.stem, ""), (f"{lesson.stem}-teacher", "#teacher=1")):
                page = browser.new_page()
                page.goto(page_file.as_uri() + fragment)
                page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
                print_handout(page, output / f"{name}.pdf", for_teacher=bool(fragment))
                page.close()


def print_handout(page: Page, file: Path, *, for_teacher: bool) -> None:
    """Print an open lesson, and check what stands on the paper. Raises: SystemExit."""
    page.emulate_media(media="print")
    told, asked = page.evaluate(TOLD), page.evaluate(ASKED)
    if told != (asked if for_teacher else 0):
        sys.exit(f"{file.name}: {told} answers stand on the paper, of {asked} questions")
    content = page.pdf(format="A4", prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    if not pages:
        sys.exit(f"{file.name}: no pages")
    file.write_bytes(content)
    print(f"{file.name}: {pages} pages, {told} of {asked} answers, {len(content) / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
