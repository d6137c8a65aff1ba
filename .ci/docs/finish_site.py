"""Writes hand-outs into the documentation site, and checks what it loads: ``python .ci/docs/finish_site.py SITE``.

``SITE/handouts/NAME.pdf`` is a lesson for the class and shows no answer, ``NAME-teacher.pdf`` shows all. The check
fails if a page loads a script, style, font or picture from another address, or one that does not exist. Needs
playwright and ``chromium``.
"""

import re
import shutil
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import visualize  # noqa: E402 - the package of this clone

TOLD = "[...document.querySelectorAll('.answer')].filter((one) => one.checkVisibility()).length"
ASKED = "document.querySelectorAll('.options').length"
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
NOT_FETCHED = {"canonical", "next", "prev", "alternate"}
"""Relations of a link element that name an address but load nothing."""
IN_STYLES = re.compile(r"""url\(\s*['"]?((?:https?:)?//[^)'"]+)|@import\s+['"]((?:https?:)?//[^'"]+)""")


def main(site: Path) -> int:
    """Write the hand-outs, then print what the pages load that is not theirs; return the exit code."""
    print_handouts(site / "handouts")
    wrong = []
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        reader = Addresses()
        reader.feed(page.read_text(encoding="utf-8"))
        wrong += [f"{page}: {address}" for address in reader.found if not _is_own(address, page)]
    for style in site.rglob("*.css"):
        found = IN_STYLES.findall(style.read_text(encoding="utf-8"))
        wrong += [f"{style}: {''.join(address)}" for address in found]
    print("\n".join(wrong) or f"{len(pages)} pages ask no other address for anything")
    return 1 if wrong else 0


def print_handouts(output: Path) -> None:
    """Write two files for each lesson. Raises: SystemExit if a file has no pages or the wrong answers."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for lesson in sorted((ROOT / "assets" / "lessons").glob("*.md")):
            page_file = Path(folder) / f"{lesson.stem}.html"
            visualize.export_lesson(lesson, page_file)
            for name, fragment in ((lesson.stem, ""), (f"{lesson.stem}-teacher", "#teacher=1")):
                page = browser.new_page()
                page.goto(page_file.as_uri() + fragment)
                page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
                print_handout(page, output / f"{name}.pdf", for_teacher=bool(fragment))
                page.close()
        browser.close()


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


class Addresses(HTMLParser):
    """Collects every address that a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Remember the address of one element."""
        values = dict(attributes)
        address = values.get(FETCHED.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") in NOT_FETCHED):
            self.found.append(address)


def _is_own(address: str, page: Path) -> bool:
    """Return True for data addresses and files of the site that exist; 404.html names files from the root."""
    parts = urlparse(address)
    if parts.scheme == "data":
        return True
    if parts.scheme or parts.netloc:
        return False
    return page.name == "404.html" or (page.parent / unquote(parts.path)).exists()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
