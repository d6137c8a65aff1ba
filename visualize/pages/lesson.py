"""Reads a lesson as a teacher writes it: a Markdown file of cards, each with a place in a trace, and questions.

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

import base64
import math
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from dsbd.errors import LessonError, TraceError
from dsbd.results import ITERATION_PHASES
from dsbd.tracing.trace import Trace
from dsbd.util import read_file
from visualize.forest import steps_of
from visualize.words import Words

KEYS = {"title": True, "trace": True, "language": False, "summary": False}
"""Keys of the front matter; True = required."""
PLACE_KEYS = ("iteration", "layer", "node", "phase", "step")
LESSON_BYTES, PICTURE_BYTES, TABLES_BYTES = 1_000_000, 4_000_000, 100_000
PICTURES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
MOST_WORDS, MOST_LAYERS = 4, 3  # limits for the tables of a lab
_HEADER = re.compile(r"##\s+(?P<title>.*?)\s*(?:\{(?P<place>[^{}]*)\})?\s*")
_OPTION = re.compile(r"[-*]\s+\[(?P<mark>[ xX])\]\s+(?P<text>.+)")
_BLOCK = re.compile(r"^```(?P<kind>lab|cut|lanes|live)(?: (?P<argument>[^\n]*))?\n(?P<instead>.*?)^```$", re.M | re.S)
_REMEDY = "assets/lessons/three-words.json is such a file"
Line = tuple[int, str]
Place = tuple[int, int]  # an iteration and one of its steps, both from 0


@dataclass(frozen=True)
class Block:
    """A part of a card that needs scripts.

    - ``lab``: the page decodes with two small tables.
    - ``cut``: the picture of a layer that shows why nothing is lost; the reader drags the draft model's probabilities.
    - ``lanes``: the viewer plays its two lanes at this card.
    - ``live``: the reader's browser decodes a prompt with the settings of the lesson's trace.
    """

    argument: str
    """``lab``: the file of tables (JSON), beside the lesson. ``cut``: the iteration and the layer. ``lanes``: ``alone``
    shows only the upper lane, the large model. ``live``: the prompt; empty = that of the trace."""
    instead: str  # Markdown, shown on paper and without scripts


@dataclass(frozen=True)
class LessonCard:
    """One thing to look at, with or without a question. Texts are Markdown."""

    title: str  # empty for the introduction
    text: str
    place: str | None
    """Where the viewer goes; None = it stays. A question is asked one step earlier, and its answer leads here."""
    line: int  # line of its header in the file
    blocks: dict[str, Block]  # by kind
    options: tuple[str, ...] = ()  # the answers to choose from; empty = no question
    right: int = 0  # index of the right option, from 0
    explanation: str = ""  # shown with the answer; may be empty


@dataclass(frozen=True)
class Lesson:
    """A lesson as written; its trace has not been read yet."""

    path: Path
    title: str
    trace: Path
    language: str
    summary: str
    cards: tuple[LessonCard, ...]


def place_in(trace: Trace, written: str) -> Place:
    """Find a place that people write as ``iteration=4 layer=2 node=17``: the first step that fits all of it.

    ``node`` is an id of the trace, which fits the step that tries or draws it; ``phase`` is ``draft``, ``score``,
    ``verify`` or ``commit``. Written iterations and steps count from 1, as in the viewer's address.

    Raises:
        ValueError: it is no place; the message says what is wrong.
        TraceError: the trace has no such place.
    """
    keys: dict[str, Any] = {}
    for word in written.split():
        name, _, value = word.partition("=")
        if name in keys or name not in PLACE_KEYS:
            raise ValueError(f"{word!r} is no place; write iteration=, layer=, node=, phase= or step=, each once")
        if name == "phase" and value not in ITERATION_PHASES:
            raise ValueError(f"phase is {value!r}; choose one of {', '.join(ITERATION_PHASES)}")
        if name != "phase" and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise ValueError(f"{name} is {value!r}; write a whole number")
        keys[name] = value if name == "phase" else int(value)
        if name in ("iteration", "step") and keys[name] == 0:
            raise ValueError(f"{name}=0: {name}s count from 1")
    number, count = keys.get("iteration", 1), len(trace.iterations)
    if number > count:
        raise TraceError(f"iteration={number}: this trace has iterations from 1 to {count}")
    steps = steps_of(trace.iterations[number - 1], trace.settings)
    if keys.get("step", 1) > len(steps):
        raise TraceError(f"step={keys['step']}: iteration {number} has steps from 1 to {len(steps)}")
    if "step" in keys:
        return number - 1, keys["step"] - 1
    layer, node = keys.get("layer"), keys.get("node")
    phase = keys.get("phase", None if layer is None or node is not None else "verify")
    for index, step in enumerate(steps):
        is_node = node is None or (step.record is not None and step.record.node == node)
        step_phase = step.phase if step.phase in ITERATION_PHASES else "verify"
        if is_node and layer in (None, step.layer) and phase in (None, step_phase):
            return number - 1, index
    known = ", ".join(map(str, sorted({step.record.node for step in steps if step.record})))
    raise TraceError(f"{written}: iteration {number} has no such step; it tries or draws the nodes {known}")


def read_lesson(path: str | Path) -> Lesson:
    """Read a lesson file. Raises: LessonError; it names the file and the line."""
    file = Path(path)
    try:
        lines = read_file(file, LESSON_BYTES).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise LessonError(f"cannot read lesson {str(path)!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise LessonError(f"{file.name}: not UTF-8 text; save it as UTF-8") from None
    try:
        front, rest = _front_matter(list(enumerate(lines, 1)))
        language = Words(front.get("language", "en")).language
        (_, before), *parts = _parts(rest)
        cards = [_card(header, inside) for header, inside in parts]
    except ValueError as error:
        raise LessonError(f"{file.name}, {error}") from None
    if not cards:
        raise LessonError(f"{file.name}: no cards; start each with a line such as ## Title {{iteration=1 layer=1}}")
    if introduction := _joined(before):
        cards.insert(0, LessonCard("", introduction, None, 1, {}))
    trace, summary = file.parent / front["trace"], front.get("summary", "")
    return Lesson(file, front["title"], trace, language, summary, tuple(cards))


def _front_matter(lines: list[Line]) -> tuple[dict[str, str], list[Line]]:
    """Return the keys, and the lines after them. Raises: ValueError, as do all functions below."""
    if not lines or lines[0][1].strip() != "---":
        raise ValueError("line 1: a lesson opens with --- and lines such as title: …, then ---")
    values: dict[str, str] = {}
    for index, (number, line) in enumerate(lines[1:], 1):
        if line.strip() == "---":
            missing = [key for key, required in KEYS.items() if required and not values.get(key)]
            if missing:
                raise ValueError(f"line {number}: no {' and no '.join(missing)} before this line")
            return values, lines[index + 1 :]
        key, colon, value = (part.strip() for part in line.partition(":"))
        if line.strip() and (not colon or key not in KEYS or key in values):
            keys = ", ".join(f"{key}:" for key in KEYS)
            raise ValueError(f"line {number}: {line[:60]!r}; write {keys} each once at most")
        values[key] = value
    raise ValueError("line 1: the opening --- is never closed by another ---")


def _parts(lines: list[Line]) -> list[tuple[Line, list[Line]]]:
    """Return the introduction, then every card, each with the line of its header; code fences hold no headers."""
    parts: list[tuple[Line, list[Line]]] = [((0, ""), [])]
    fenced = False
    for number, line in lines:
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line.startswith("## "):
            parts.append(((number, line), []))
        else:
            parts[-1][1].append((number, line))
    return parts


def _card(header: Line, inside: list[Line]) -> LessonCard:
    number, line = header
    match = _HEADER.fullmatch(line)
    if match is None or not match["title"]:
        raise ValueError(f"line {number}: {line[:60]!r}; write ## Title {{iteration=1 layer=1 node=2}}")
    options = [index for index, (_, text) in enumerate(inside) if _OPTION.fullmatch(text.rstrip())]
    end = options[0] if options else len(inside)
    text, blocks = _blocks(_joined(inside[:end]), number)
    question = _question(inside[end:], len(options)) if options else {}
    return LessonCard(match["title"], text, match["place"], number, blocks, **question)


def _blocks(text: str, line: int) -> tuple[str, dict[str, Block]]:
    """Take the blocks out of a card's text."""
    blocks: dict[str, Block] = {}
    for match in _BLOCK.finditer(text):
        kind, argument, instead = match["kind"], match["argument"] or "", match["instead"]
        if kind in blocks:
            raise ValueError(f"line {line}: a card has one ```{kind}")
        if kind == "lab":
            argument, _, instead = instead.partition("\n")
        blocks[kind] = Block(argument.strip(), instead.strip())
    return _BLOCK.sub("", text).strip(), blocks


def _question(lines: list[Line], count: int) -> dict[str, Any]:
    """Read a question: its options, then nothing but an explanation."""
    options = [match for _, text in lines[:count] if (match := _OPTION.fullmatch(text.rstrip()))]
    right = [index for index, option in enumerate(options) if option["mark"] != " "]
    if len(options) != count or count < 2 or len(right) != 1:
        raise ValueError(
            f"line {lines[0][0]}: a question has two options or more, one below the other, and one of them [x]; "
            f"here are {count}, {len(right)} of them [x]"
        )
    for number, text in lines[count:]:
        if text.strip() and not text.startswith(">"):
            raise ValueError(f"line {number}: after the options write only the explanation, after >")
    explanation = _joined([(number, text.removeprefix(">").removeprefix(" ")) for number, text in lines[count:]])
    return {"options": tuple(option["text"] for option in options), "right": right[0], "explanation": explanation}


def _joined(lines: list[Line]) -> str:
    return "\n".join(line for _, line in lines).strip()


@pydantic_dataclass(frozen=True)
class Tables:
    """The two models of a lab as tables: a distribution for each path, a string with one digit for each word so far."""

    words: Annotated[list[str], Field(min_length=2, max_length=MOST_WORDS)]
    prompt: str
    layers: Annotated[int, Field(ge=2, le=MOST_LAYERS)]
    target: dict[str, list[float]]
    draft: dict[str, list[float]]


def read_tables(file: Path) -> dict[str, Any]:
    """Read the tables of a lab (JSON) as plain data. Raises: LessonError; it names what is wrong."""
    try:
        plain = asdict(TypeAdapter(Tables).validate_json(read_file(file, TABLES_BYTES).removeprefix(BOM_UTF8)))
    except OSError as error:
        raise LessonError(f"tables {file.name!r}: {error.strerror or error}") from None
    except ValidationError:
        fields = f"words (2 to {MOST_WORDS}), prompt, layers (2 to {MOST_LAYERS}), target and draft"
        raise LessonError(f"tables {file.name!r}: write {fields}; {_REMEDY}") from None
    count = len(plain["words"])
    for model, length in product(("target", "draft"), range(plain["layers"])):
        for path in map("".join, product(map(str, range(count)), repeat=length)):
            probs = plain[model].get(path, [])
            if len(probs) != count or min(probs) < 0 or not math.isclose(math.fsum(probs), 1.0, abs_tol=1e-9):
                rule = f"{model} after {path!r} is no distribution; write {count} probabilities that sum to 1"
                raise LessonError(f"tables {file.name!r}: {rule}; {_REMEDY}")
    return plain


def markdown(text: str, folder: Path, *, inline: bool = False) -> Markup:
    """Turn Markdown into harmless HTML: no HTML of the author, no scripts, and pictures only from ``folder``.

    ``inline``: one line, without a paragraph around it. Raises: LessonError.
    """

    def image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        tokens[index].attrs["src"] = _picture(str(tokens[index].attrs["src"]), folder)
        return self.image(tokens, index, options, env)

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", image)
    return Markup(reader.renderInline(text) if inline else reader.render(text))


def _picture(name: str, folder: Path) -> str:
    """Return a picture file in the folder, or below it, as a data address."""
    kind = PICTURES.get(Path(name).suffix.lower())
    path = (folder / name).resolve()
    if kind is None or not path.is_relative_to(folder.resolve()):
        rule = f"name a {', '.join(PICTURES)} file beside the lesson; pictures are not fetched"
        raise LessonError(f"picture {name!r}: {rule}")
    try:
        content = read_file(path, PICTURE_BYTES)
    except OSError as error:
        raise LessonError(f"picture {name!r}: {error.strerror or error}") from None
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
