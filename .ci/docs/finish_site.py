"""Writes hand-outs into the documentation site, and checks what pages load: ``python .ci/docs/finish_site.py SITE``.

``SITE/handouts/NAME.pdf`` is a lesson for the class, without answers; ``NAME-teacher.pdf`` has them all. The check
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

ANSWERS = "[...document.querySelectorAll('.answer')].filter((one) => one.checkVisibility()).length"
QUESTIONS = "document.querySelectorAll('.options').length"


def main(site: Path) -> int:
    """Write the hand-outs, then print what pages load from elsewhere; return the exit code."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print_handouts(browser, site / "handouts")
        urls = foreign_urls(browser, site)
        browser.close()
    print("\n".join(urls) or "the pages ask no other address for anything")
    return 1 if urls else 0


def foreign_urls(browser: Browser, site: Path) -> list[str]:
    """Return the URLs that pages load from other addresses, and those that the site does not have."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        home, urls = f"http://127.0.0.1:{server.server_port}/", list[str]()
        page = browser.new_page()
        page.on("request", lambda request: request.url.startswith((home, "data:", "blob:")) or urls.append(request.url))
        page.on("response", lambda response: response.status < 400 or urls.append(response.url))
        for file in sorted(site.rglob("*.html")):
            page.goto(home + file.relative_to(site).as_posix(), wait_until="networkidle")
        server.shutdown()
    return urls


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
    """Print an open lesson, and check what is on the paper. Raises: SystemExit."""
    page.emulate_media(media="print")
    answers, questions = page.evaluate(ANSWERS), page.evaluate(QUESTIONS)
    if answers != (questions if for_teacher else 0):
        sys.exit(f"{file.name}: {answers} answers are printed, of {questions} questions")
    content = page.pdf(format="A4", prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    if not pages:
        sys.exit(f"{file.name}: no pages")
    file.write_bytes(content)
    print(f"{file.name}: {pages} pages, {answers} of {questions} answers, {len(content) / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
