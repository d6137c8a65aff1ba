"""Prints the hand-outs of all lessons to PDF, for class and teacher: ``python .ci/docs/handouts.py FOLDER``.

``FOLDER/NAME.pdf`` shows no answer, ``FOLDER/NAME-teacher.pdf`` all of them; both are checked. Needs playwright and
``chromium``.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from pictures import ROOT, visualize  # the script beside this one
from playwright.sync_api import Page, sync_playwright

LESSONS = ROOT / "assets" / "lessons"
TOLD = "[...document.querySelectorAll('.answer')].filter((one) => one.checkVisibility()).length"
ASKED = "document.querySelectorAll('.options').length"


def main(output: Path) -> None:
    """Write two files for each lesson. Raises: SystemExit if a file has no pages or the wrong answers."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for lesson in sorted(LESSONS.glob("*.md")):
            page_file = Path(folder) / f"{lesson.stem}.html"
            visualize.export_lesson(lesson, page_file)
            for name, fragment in ((lesson.stem, ""), (f"{lesson.stem}-teacher", "#teacher=1")):
                page = browser.new_page()
                page.goto(page_file.as_uri() + fragment)
                page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
                printed(page, output / f"{name}.pdf", for_teacher=bool(fragment))
                page.close()
        browser.close()


def printed(page: Page, file: Path, *, for_teacher: bool) -> None:
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
    main(Path(sys.argv[1]))
