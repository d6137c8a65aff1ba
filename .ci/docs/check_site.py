"""Fails if a built page loads a script, style, font or picture from another address, or one that does not exist."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
NOT_FETCHED = {"canonical", "next", "prev", "alternate"}
"""Relations of a link element that name an address but load nothing."""
IN_STYLES = re.compile(r"""url\(\s*['"]?((?:https?:)?//[^)'"]+)|@import\s+['"]((?:https?:)?//[^'"]+)""")


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


def main(site: Path) -> int:
    """Print what is wrong; return the exit code."""
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
    return 1 if wrong or not pages else 0


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
