"""Scripts and style sheets of the pages around a viewer."""

from importlib import resources


def page_file(name: str) -> str:
    """Return the text of a file in this folder."""
    return (resources.files("visualize.pages") / name).read_text(encoding="utf-8")
