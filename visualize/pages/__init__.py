"""Scripts and style sheets of the pages around a viewer; each file says what it is for."""

from importlib import resources


def page_file(name: str) -> str:
    """Return the source of one of the files beside this one."""
    return (resources.files("visualize.pages") / name).read_text(encoding="utf-8")
