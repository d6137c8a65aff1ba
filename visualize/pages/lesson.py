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
_CUT = re.compile(r"^```cut (?P<place>[^\n]*)\n(?P<instead>.*?)^```$", re.M | re.S)
_LANES = re.compile(r"^```lanes(?P<alone> alone)?\n(?P<instead>.*?)^```$", re.M | re.S)
_LAB = re.compile(r"^```lab\n(?P<tables>[^\n]+)\n(?P<instead>.*?)^```$", re.M | re.S)
_LIVE = re.compile(r"^```live(?P<prompt>[^\n]*)\n(?P<instead>.*?)^```$", re.M | re.S)
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
class LabPlace:
    """A lab in a card: there the page decodes with two small tables."""

    tables: Path
    """The tables (JSON)."""
    instead: str
    """Markdown, shown instead on paper and without scripts."""


@dataclass(frozen=True)
class CutPlace:
    """The picture of a layer that shows why nothing is lost: the reader drags the draft model's probabilities."""

    position: Position
    """It names the iteration and the layer."""
    instead: str
    """Markdown, shown instead without scripts."""


@dataclass(frozen=True)
class LivePlace:
    """A form in a card: the reader's browser decodes a prompt with the settings of the lesson's trace."""

    prompt: str
    """What stands in the form at first; empty = the prompt of the trace."""
    instead: str
    """Markdown, shown instead on paper, without scripts, and where the page has no models."""


@dataclass(frozen=True)
class LanesPlace:
    """The two lanes, which the viewer plays at this card."""

    alone: bool
    """Only the upper lane is shown, the large model alone; a lesson shows both."""
    instead: str
    """Markdown, shown instead on paper and without scripts."""


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
    lab: LabPlace | None = None
    cut: CutPlace | None = None
    lanes: LanesPlace | None = None
    live: LivePlace | None = None


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
    text, cut = _cut(_joined(inside[:end]), number, path)
    text, lab = _lab(text, number, path)
    text, lanes = _lanes(text)
    text, live = _live(text)
    question = _question(inside[end:], len(marked), path) if marked else None
    return LessonCard(matched["title"], text, position, question, number, lab, cut, lanes, live)


def _taken(block: re.Pattern[str], text: str) -> tuple[str, re.Match[str] | None]:
    """Take the first block of a kind out of a card's text."""
    found = block.search(text)
    return (text if found is None else f"{text[: found.start()]}{text[found.end() :]}".strip()), found


def _lanes(text: str) -> tuple[str, LanesPlace | None]:
    """Take the lanes out of a card's text."""
    rest, found = _taken(_LANES, text)
    return rest, found and LanesPlace(found["alone"] is not None, found["instead"].strip())


def _cut(text: str, line: int, path: Path) -> tuple[str, CutPlace | None]:
    """Take the picture of a layer out of a card's text."""
    rest, found = _taken(_CUT, text)
    try:
        return rest, found and CutPlace(Position.parse(found["place"]), found["instead"].strip())
    except ValueError as error:
        raise LessonError(f"{path.name}, line {line}: {error}") from None


def _lab(text: str, line: int, path: Path) -> tuple[str, LabPlace | None]:
    """Take the lab out of a card's text."""
    rest, found = _taken(_LAB, text)
    if re.search(r"^```lab", rest, re.M):
        raise LessonError(f"{path.name}, line {line}: a card has one lab: ```lab, a line with the file of tables, ```")
    return rest, found and LabPlace(path.parent / found["tables"].strip(), found["instead"].strip())


def _live(text: str) -> tuple[str, LivePlace | None]:
    """Take the form out of a card's text."""
    rest, found = _taken(_LIVE, text)
    return rest, found and LivePlace(found["prompt"].strip(), found["instead"].strip())


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
