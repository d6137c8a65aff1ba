"""Which font of the system can write a text, for pictures that Pillow draws."""

from functools import lru_cache
from typing import Any

from PIL import ImageFont

FONTS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "segoeui.ttf", "Arial.ttf", "LiberationSans-Regular.ttf"),
    *("NotoSansCJK-Regular.ttc", "PingFang.ttc", "msyh.ttc", "YuGothM.ttc", "wqy-zenhei.ttc"),
    *("NotoSansDevanagari-Regular.ttf", "NotoSansThai-Regular.ttf", "Nirmala.ttf", "Arial Unicode.ttf"),
)
"""Files that Pillow looks for among the fonts of the system."""
NO_CHARACTER = "\U0010ffff"


@lru_cache(maxsize=4096)
def written(text: str, size: int) -> tuple[str, Any]:
    """Return text as it can be written, and the font of the system that can: the first that has all its characters.

    What the best font lacks is written as numbers.
    """
    fonts = _fonts(size)
    font = next((one for one in fonts if all(_has(one, character) for character in set(text))), None)
    if font is not None:
        return text, font
    known = (one if _has(fonts[0], one) else one.encode("ascii", "backslashreplace").decode() for one in text)
    return "".join(known), fonts[0]


@lru_cache
def _fonts(size: int) -> list[Any]:
    found: list[Any] = []
    for name in FONTS:
        try:
            found.append(ImageFont.truetype(name, size))
        except OSError:
            continue
    return found or [ImageFont.load_default(size)]


@lru_cache(maxsize=4096)
def _has(font: Any, character: str) -> bool:
    """Whether a font draws a character otherwise than one that does not exist."""
    return character == " " or bytes(font.getmask(character)) != bytes(font.getmask(NO_CHARACTER))
