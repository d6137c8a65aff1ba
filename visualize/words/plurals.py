"""Chooses the form of a noun after a number: the plural rules of CLDR, as ``Intl.PluralRules`` in browsers."""


def plural_category(language: str, count: int) -> str:
    """Return the CLDR category of a whole number below a million.

    Args:
        language: code of a language that has a table of sentences.
        count: at least 0.

    Returns:
        ``zero``, ``one``, ``two``, ``few``, ``many`` or ``other``; most languages use one or two of them.
    """
    if language in ("ja", "zh"):
        return "other"
    if language == "ar":
        return _arabic(count)
    return "one" if count == 1 or (language == "fr" and count == 0) else "other"


def _arabic(count: int) -> str:
    if count < 3:
        return ("zero", "one", "two")[count]
    last_two = count % 100
    return "few" if 3 <= last_two <= 10 else "many" if last_two >= 11 else "other"
