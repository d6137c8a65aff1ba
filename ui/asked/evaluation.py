"""What a visitor may evaluate: tasks, methods and grids, and the way from the form's values to a checked exam."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError, TaskError
from dsbd.evaluation.exams import make_exam
from dsbd.evaluation.records import Exam
from dsbd.files import write_file
from dsbd.measure.bench.contenders import BASELINE, POINTS, Contender, contenders
from dsbd.measure.bench.grids import GRIDS, grid_contenders
from dsbd.settings import DecodingSettings
from dsbd.tasks.records import Question
from dsbd.tasks.registry import load_task

from ..host.limits import Limits
from ..pairs.shelf import PairShelf
from ..traffic.uploads import read_own_questions
from .form import METHOD_LABELS

OWN = "jsonl"
OWN_LABEL = "your file"
SQL_TARGET = "bundled:sql/target"
TASK_LABELS = {
    "sql": "Questions to SQL (right or wrong)",
    "stories": "Stories (no right answers)",
    OWN: "Your own file",
}
PAIRS = {"sql": "bundled:sql", "stories": "bundled:stories"}
"""The bundled pair that a bundled task was made for."""
PLAIN_METHODS = ("sampling", "beam_sampling", "greedy", "beam_search", "speculative", "specinfer",
                 "speculative_beam_search")  # fmt: skip
POINT_LABELS = {
    "same-law": "same law as beam sampling",
    "defaults": "dynamic width",
    "equal-quality": "equal quality, tuned",
    "auto-same-law": "same law, auto",
    "auto-equal-quality": "equal quality, auto",
    "paper-same-law": "same law, nothing beyond the paper",
}
START = [BASELINE, "dsbd:same-law", "dsbd:defaults"]
PRESETS = {
    "width_threshold": ("Width threshold", "0.5, 0.7, 0.9"),
    "draft_width": ("Draft width", "2, 4, 6"),
    "draft_depth": ("Draft depth", "2, 3, 4"),
    "num_beams": ("Beams", "1, 2, 4"),
    "temperature": ("Temperature", "0.5, 1"),
}
"""Settings that a grid may sweep: label, and the values to begin with."""
GRID = "paper-small"
MOST_VALUES = 12
FIXED = ("temperature", "num_beams")
"""Settings of the form that every method reads, unless the grid sweeps them."""


@dataclass(frozen=True)
class Asked:
    """A checked evaluation, as plain data that may cross to another process."""

    pair: str
    """Key of the pair."""
    task: str
    questions: str | None
    """Path of the visitor's own questions, as JSON lines; None for a bundled task."""
    contenders: tuple[Contender, ...]
    limit: int
    seeds: int
    max_new_tokens: int | None

    def exam(self) -> Exam:
        """The exam. Raises: SettingsError, TaskError."""
        own = self.questions is not None
        return make_exam(
            [load_task(self.task, self.questions)],
            self.contenders,
            data={self.task: OWN_LABEL} if own else None,
            limit=self.limit,
            seeds=self.seeds,
            max_new_tokens=self.max_new_tokens,
        )


def tasks_of(pairs: PairShelf) -> list[tuple[str, str]]:
    """Label and name of every task that the pairs of this page can be asked, the one with right answers first."""
    return [(label, name) for name, label in TASK_LABELS.items() if name != "sql" or _has(pairs, PAIRS["sql"])]


def pair_of(task: str, pair: str, pairs: PairShelf) -> str:
    """The key of the pair that answers a task.

    Nobody but the SQL pair can answer questions to SQL, and it writes no stories; any other task goes to the visitor's
    own pair.
    """
    is_sql = pairs.target_id(pair) == SQL_TARGET
    if (task == "sql") is is_sql or task == OWN or not _has(pairs, PAIRS[task]):
        return pair
    return PAIRS[task]


def _has(pairs: PairShelf, key: str) -> bool:
    return key in pairs.available() or pairs.is_loaded(key)


def method_choices() -> list[tuple[str, str]]:
    """Label and name of every method that may be evaluated, the named points of DSBD first."""
    points = [(f"DSBD, {label}", f"dsbd:{point}") for point, label in POINT_LABELS.items() if point in POINTS]
    return points + [(METHOD_LABELS.get(name, name), name) for name in PLAIN_METHODS]


def grid_choices() -> list[tuple[str, str]]:
    """Label and name of every grid."""
    swept = [(f"Vary: {label.lower()}", name) for name, (label, _) in PRESETS.items()]
    return [("None: the methods as they are", ""), *swept, ("The paper’s grid, small (brings its methods)", GRID)]


def values_of(text: Any) -> list[Any]:
    """The values of a grid, from numbers with commas between them, or a list of numbers. Raises: SettingsError."""
    parts = [part.strip() for part in text.split(",")] if isinstance(text, str) else text
    remedy = "write numbers with commas between them, such as 0.5, 0.7, 0.9"
    if not isinstance(parts, (list, tuple)) or not 1 <= len(parts) <= MOST_VALUES:
        raise SettingsError(f"values of the grid: give 1 to {MOST_VALUES}; {remedy}")
    return [_number(part, remedy) for part in parts]


def _number(part: Any, remedy: str) -> int | float:
    try:
        number = float(part) if isinstance(part, str) else part
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError
        return int(number) if number == int(number) else number
    except (ValueError, OverflowError):
        raise SettingsError(f"values of the grid hold {str(part)[:40]!r}; {remedy}") from None


def contenders_of(methods: Any, grid: Any, values: Any, shared: Mapping[str, Any]) -> tuple[Contender, ...]:
    """The contenders of a choice.

    Args:
        methods: names of :func:`method_choices`.
        grid: empty, a field of :data:`PRESETS`, or the name of a grid that brings its methods.
        values: of the field that is swept.
        shared: settings of all contenders, by name.

    Raises:
        SettingsError: an unknown name, a bad value, or a point that fixes what is swept.
    """
    DecodingSettings(**shared)
    if grid == GRID:
        swept = {name for fields in GRIDS[GRID].values() for name in fields}
        return grid_contenders(GRID, {name: [value] for name, value in shared.items() if name not in swept})
    known = [name for _, name in method_choices()]
    if not isinstance(methods, (list, tuple)) or not methods:
        raise SettingsError("no method is chosen; choose one or more")
    for method in methods:
        if method not in known:
            raise SettingsError(f"methods names {str(method)[:60]!r}; choose from {', '.join(known)}")
    given = {name: [value] for name, value in shared.items()}
    if grid:
        if not isinstance(grid, str) or grid not in PRESETS:
            raise SettingsError(f"grid is {str(grid)[:60]!r}; choose from {', '.join((*PRESETS, GRID))}")
        is_real = isinstance(getattr(DecodingSettings, grid), float)
        given[grid] = [float(value) if is_real else value for value in values_of(values)]
    chosen = [name for name in known if name in methods]
    return contenders(chosen, ("defaults",), given)


def own_questions(path: str | Path | None, limits: Limits) -> list[Question]:
    """The questions of an uploaded file. Raises: TaskError."""
    if not path:
        raise TaskError("there is no file of questions yet; upload a .jsonl or .csv file, or choose a bundled task")
    return check_questions(read_own_questions(Path(path), limits), limits)


def check_questions(questions: list[Question], limits: Limits) -> list[Question]:
    """Refuse more or longer questions than this page takes. Raises: TaskError."""
    if len(questions) > limits.max_questions:
        raise TaskError(
            f"the file has {len(questions):,} questions; this page takes {limits.max_questions:,}; give fewer"
        )
    most = limits.max_prompt_characters
    for question in questions:
        if max(len(question.prompt), sum(map(len, question.references))) > most:
            raise TaskError(f"question {question.id[:40]!r} has more than {most:,} characters; shorten it")
    return questions


def write_questions(questions: Sequence[Question], path: Path) -> None:
    """Write questions as the JSON lines that the task reads. Raises: TaskError where the disk takes no more."""
    lines = [{"prompt": one.prompt, "references": list(one.references), "id": one.id} for one in questions]
    plain = [{name: value for name, value in line.items() if value != []} for line in lines]
    try:
        write_file(path, "".join(json.dumps(line) + "\n" for line in plain))
    except OSError as error:
        raise TaskError(f"the questions cannot be kept: {error.strerror or error}; try again later") from None
