"""Sections of children's books, to be continued: prompts beyond a context of 2,048 tokens, with no right answers.

The bundled models were trained on other sections of these books, and not on these.
"""

from dsbd.assets import asset_path
from dsbd.tasks.files import json_lines, text_of
from dsbd.tasks.task import Question, Task

SECTIONS = "tasks/books/sections.jsonl"
"""Among the bundled files."""


class Books(Task):
    """Twelve sections. Without a memory a section that does not fit the context loses its beginning."""

    name = "books"
    version = 1
    max_new_tokens = 64
    keeps_end = True

    def __init__(self) -> None:
        path = asset_path(SECTIONS)
        super().__init__(
            Question(
                text_of(entry, "id", path, line),
                (text := text_of(entry, "text", path, line)),
                fields={"title": text_of(entry, "title", path, line)},
                passage=(0, len(text)),
            )
            for line, entry in json_lines(path)
        )
