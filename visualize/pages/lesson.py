"""Reads a lesson as a teacher writes it: a Markdown file of cards, each at a place in a trace, with questions.

---
title: One iteration by hand
trace: ../traces/1-dynamic-width.json.gz
---
What the lesson is about.

## Will it be accepted? {iteration=1 layer=1 node=1}
The random number is 0.34. Will the first draft be accepted?

- [ ] No
- [x] Yes

> The explanation, shown once the question is answered.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dsbd.errors import LessonError
from visualize.scenes.place import Position
from visualize.words.words import Words

KEYS = {"title": True, "trace": True, "language": False, "summary": False}
"""Keys of the front matter; True if a lesson must have it."""
MAX_BYTES = 1_000_000
_HEADER = re.compile(r"##\s+(?P<title>.*?)\s*(?:\{(?P<place>[^{}]*)\})?\s*")
_OPTION = re.compile(r"[-*]\s+\[(?P<mark>[ xX])\]\s+(?P<text>.+)")
_BLOCK = re.compile(r"^```(?P<kind>lab|cut|lanes|live)(?: (?P<given>[^\n]*))?\n(?P<instead>.*?)^```$", re.M | re.S)
Line = tuple[int, str]


@dataclass(frozen=True)
class CardQuestion:
    """A question with several options; one is right."""

    options: tuple[str, ...]
    """Markdown."""
    right: int
    """Index of the right option, from 0."""
    explanation: str
    """Markdown, shown with the answer; may be empty."""


@dataclass(frozen=True)
class Block:
    """A part of a card that needs scripts.

    - ``lab``: the page decodes with two small tables.
    - ``cut``: the picture of a layer that shows why nothing is lost; the reader drags the draft model's probabilities.
    - ``lanes``: the viewer plays its two lanes at this card.
    - ``live``: the reader's browser decodes a prompt with the settings of the lesson's trace.
    """

    given: str
    """``lab``: the file of tables (JSON), beside the lesson. ``cut``: the iteration and the layer. ``lanes``: ``alone``
    shows only the upper lane, the large model. ``live``: the prompt; empty = that of the trace."""
    instead: str
    """Markdown, shown on paper and without scripts."""


@dataclass(frozen=True)
class LessonCard:
    """One thing to look at, with or without a question about it."""

    title: str
    text: str
    """Markdown."""
    position: Position | None
    """Where the viewer goes; None = it stays. A question is asked one step before, and its answer leads here."""
    question: CardQuestion | None
    line: int
    """Line of its header in the file."""
    blocks: dict[str, Block]
    """By kind."""


@dataclass(frozen=True)
class Lesson:
    """A lesson as written; its trace is not read yet."""

    path: Path
    title: str
    trace: Path
    language: str
    summary: str
    introduction: str
    """Markdown."""
    cards: tuple[LessonCard, ...]

    @property
    def count(self) -> int:
        """Return the number of cards, introduction included."""
        return len(self.cards) + bool(self.introduction)


def read_lesson(path: str | Path) -> Lesson:
    """Read a lesson file. Raises: LessonError; it names the file and the line."""
    file = Path(path)
    try:
        raw = file.read_bytes()
        if len(raw) > MAX_BYTES:
            raise LessonError(f"{file.name}: {len(raw):,} bytes; a lesson has at most {MAX_BYTES:,}")
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise LessonError(f"cannot read lesson {str(path)!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise LessonError(f"{file.name}: not UTF-8 text; save it as UTF-8") from None
    return parse_lesson(text, file)


def parse_lesson(text: str, path: Path) -> Lesson:
    """Make a lesson from its text; its trace and its errors are relative to ``path``. Raises: LessonError."""
    lines = list(enumerate(text.splitlines(), 1))
    front, rest = _front_matter(lines, path)
    language = front.get("language", "en")
    try:
        Words(language)
    except ValueError as error:
        raise LessonError(f"{path.name}: language: {error}") from None
    parts = list(_parts(rest))
    introduction = "\n".join(line for _, line in parts[0][1]).strip()
    cards = tuple(_card(header, inside, path) for header, inside in parts[1:] if header is not None)
    if not cards:
        raise LessonError(f"{path.name}: no cards; start each with a line such as ## Title {{iteration=1 layer=1}}")
    trace = path.parent / front["trace"]
    return Lesson(path, front["title"], trace, language, front.get("summary", ""), introduction, cards)


def _front_matter(lines: list[Line], path: Path) -> tuple[dict[str, str], list[Line]]:
    if not lines or lines[0][1].strip() != "---":
        raise LessonError(f"{path.name}, line 1: a lesson opens with --- and lines such as title: …, then ---")
    found: dict[str, str] = {}
    for at, (number, line) in enumerate(lines[1:], 1):
        if line.strip() == "---":
            missing = [key for key, needed in KEYS.items() if needed and not found.get(key)]
            if missing:
                raise LessonError(f"{path.name}, line {number}: no {' and no '.join(missing)} before this line")
            return found, lines[at + 1 :]
        if not line.strip():
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key not in KEYS or key in found:
            keys = ", ".join(f"{key}:" for key in KEYS)
            raise LessonError(f"{path.name}, line {number}: {line[:60]!r}; write {keys} each once at most")
        found[key] = value
    raise LessonError(f"{path.name}, line 1: the opening --- is never closed by another ---")


def _parts(lines: list[Line]) -> Iterator[tuple[Line | None, list[Line]]]:
    """Yield the introduction, then every card with its header; code fences hold no headers."""
    header: Line | None = None
    inside: list[Line] = []
    fenced = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and line.startswith("## "):
            yield header, inside
            header, inside = (number, line), []
        else:
            inside.append((number, line))
    yield header, inside


def _card(header: Line, inside: list[Line], path: Path) -> LessonCard:
    number, line = header
    matched = _HEADER.fullmatch(line)
    if matched is None or not matched["title"]:
        raise LessonError(f"{path.name}, line {number}: {line[:60]!r}; write ## Title {{iteration=1 layer=1 node=2}}")
    position = None
    if matched["place"] is not None:
        try:
            position = Position.parse(matched["place"])
        except ValueError as error:
            raise LessonError(f"{path.name}, line {number}: {error}") from None
    marked = [at for at, (_, text) in enumerate(inside) if _OPTION.fullmatch(text.rstrip())]
    end = marked[0] if marked else len(inside)
    text, blocks = _blocks(_joined(inside[:end]), number, path)
    question = _question(inside[end:], len(marked), path) if marked else None
    return LessonCard(matched["title"], text, position, question, number, blocks)


def _blocks(text: str, line: int, path: Path) -> tuple[str, dict[str, Block]]:
    """Take the blocks out of a card's text."""
    blocks: dict[str, Block] = {}
    for found in _BLOCK.finditer(text):
        kind, given, instead = found["kind"], found["given"] or "", found["instead"]
        if kind in blocks:
            raise LessonError(f"{path.name}, line {line}: a card has one ```{kind}")
        if kind == "lab":
            given, _, instead = instead.partition("\n")
        blocks[kind] = Block(given.strip(), instead.strip())
    return _BLOCK.sub("", text).strip(), blocks


def _question(lines: list[Line], count: int, path: Path) -> CardQuestion:
    """Read a question: its options, then nothing but an explanation."""
    first = lines[0][0]
    options = [found for _, text in lines[:count] if (found := _OPTION.fullmatch(text.rstrip()))]
    right = [at for at, option in enumerate(options) if option["mark"] != " "]
    if len(options) != count or count < 2 or len(right) != 1:
        raise LessonError(
            f"{path.name}, line {first}: a question has two options or more, one below the other, and one of them [x]; "
            f"here are {count}, {len(right)} of them [x]"
        )
    told = []
    for number, text in lines[count:]:
        if text.strip() and not text.startswith(">"):
            raise LessonError(f"{path.name}, line {number}: after the options write only the explanation, after >")
        told.append((number, text.removeprefix(">").removeprefix(" ")))
    return CardQuestion(tuple(option["text"] for option in options), right[0], _joined(told))


def _joined(lines: list[Line]) -> str:
    return "\n".join(line for _, line in lines).strip()
