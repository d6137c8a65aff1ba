"""The words of drawings and pages, and numbers as a reader sees them.

Each language has one table of templates, ``words/<language>.json``, for Python and for the viewer, which writes the
sentences; whatever a table lacks is in English. Templates whose key starts with ``page.`` are only for pages written by
Python.
"""

import json
import math
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from importlib import resources
from typing import Any

from dsbd.errors import ArgumentError

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN_FROM, _PLAIN_TO = 5e-4, 1e9
_FOLDER = resources.files("visualize") / "words"


class Words:
    """The templates of one of the :func:`known_languages`, by its code. Raises: ArgumentError for another one."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.table = _load(language)

    def __call__(self, key: str, /, **values: Any) -> str:
        """Fill the template ``key`` with ``values``."""
        return self.table[key].format(**values)

    def counted(self, noun: str, count: int) -> str:
        """Return a number of ``drafts``, ``nodes``, ``cover`` (extra candidates), ``beams``, ``tokens``, ``passes``."""
        return self(f"count.{noun}.{plural_category(self.language, count)}", count=count)

    def below(self, start: str) -> dict[str, str]:
        """Return the templates whose keys begin with ``start``, by the rest of their keys."""
        return {key.removeprefix(start): text for key, text in self.table.items() if key.startswith(start)}


def plural_category(language: str, count: int) -> str:
    """Return the CLDR category of a whole number below a million, as ``Intl.PluralRules`` does in browsers.

    It is ``zero``, ``one``, ``two``, ``few``, ``many`` or ``other``; most languages use one or two of them.
    """
    if language == "ar":
        if count < 3:
            return ("zero", "one", "two")[count]
        return "other" if count % 100 < 3 else "few" if count % 100 <= 10 else "many"
    is_one = language not in ("ja", "zh") and (count == 1 or (language == "fr" and count == 0))
    return "one" if is_one else "other"


def number(value: float, digits: int = 2) -> str:
    """Write a number for a sentence: ``0.42``, ``0.0031``, ``3.1·10⁻⁵``, ``2.0·10⁵²``, ``1``; with a true minus."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        decimals = digits if value == 0 or abs(value) >= 0.1 else digits - 1 - math.floor(math.log10(abs(value)))
        text = _fixed(value, decimals)
        text = text.rstrip("0").rstrip(".") if float(text) == round(value) == value else text
    else:
        rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        text = f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return text.replace("-", "−")


def _fixed(value: float, decimals: int) -> str:
    """Write the value with so many decimals; ties round away from zero, as in browsers."""
    if value * 2.0 ** (decimals + 1) % 1:  # no tie is possible
        return f"{value:.{decimals}f}"
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@lru_cache
def _load(language: str) -> dict[str, str]:
    if language not in known_languages():
        raise ArgumentError(f"no strings for language {language!r}; there are {', '.join(known_languages())}")
    table: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return table if language == "en" else _load("en") | table


def known_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a table, sorted."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))
