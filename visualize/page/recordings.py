"""Recorded decodes: the bundled ones, and those that ``dsbd examples`` makes for a host's own pair.

The prompts of a host's recordings are the examples of their pair, in the order of their file names.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import dsbd
from dsbd.bench.task import Question
from dsbd.errors import PageError
from dsbd.models.pair import Pair
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path

from . import form
from .runner import TITLES, Pairs

SHOWN = 4
"""Examples of a pair: each has a button."""
FOREST = 3
"""Nodes that branch in one pass from which on its drawing is a forest."""
WORDS = re.compile(r"[^\W_]+")
_NAME = re.compile(r"(?P<number>\d+)-.+(?P<ending>\.json\.gz)")


class Example(NamedTuple):
    """A prompt that was decoded for the page."""

    title: str
    """Words of its file name: with hyphens for spaces."""
    trace: Trace
    branching: int
    """The most nodes that branch in one pass."""
    tokens_per_pass: float


def paths_of(folder: Path) -> dict[str, Path]:
    """Return the recordings in a folder by name, in the order of their numbers; other files are left out."""
    named = [(match, path) for path in folder.glob("*") if (match := _NAME.fullmatch(path.name))]
    named.sort(key=lambda one: int(one[0]["number"]))
    return {match.string.removesuffix(match["ending"]): path for match, path in named}


@lru_cache(maxsize=1)
def recorded() -> dict[str, Trace]:
    """Return the bundled recordings by name."""
    return {name: Trace.load(path) for name, path in paths_of(asset_path("traces")).items()}


def title_of(name: str) -> str:
    """Return a recording as a visitor reads it: ``4-extra-candidates`` is *Extra candidates*."""
    words = name.partition("-")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def own_paths(folders: Sequence[str]) -> dict[str, Path]:
    """Return the recordings of a host by names that no bundled one has."""
    found = [(f"own{at}.{name}", path) for at, one in enumerate(folders) for name, path in paths_of(Path(one)).items()]
    return dict(found)


def load_own(folders: Sequence[str], pairs: Pairs) -> dict[str, Trace]:
    """Return the recordings of a host by name.

    Raises: PageError: a folder has none, or not enough of a model, or they are of a model that is not offered.
        TraceError: a file is damaged.
    """
    remedy = "python -m dsbd examples writes such a folder"
    for folder in folders:
        if not Path(folder).is_dir() or not paths_of(Path(folder)):
            raise PageError(f"--examples names {folder[:200]!r}, a folder without recordings; {remedy}")
    traces = {name: Trace.load(path) for name, path in own_paths(folders).items()}
    models, offered = [trace.models.target.id for trace in traces.values()], [*map(pairs.target, pairs.names)]
    for model in models:
        if model not in offered:
            raise PageError(f"--examples records {model!r}, and the page offers {', '.join(offered)}; name it --target")
        if models.count(model) < SHOWN:
            raise PageError(f"--examples has {models.count(model)} recordings of {model!r}; it takes {SHOWN}: {remedy}")
    return traces


def examples_of(pairs: Pairs, pair: str) -> dict[str, str]:
    """Return {words on a button: prompt} of a pair: the host's first ones, else the bundled ones."""
    own = [(name, one) for name, one in pairs.recordings.items() if one.models.target.id == pairs.target(pair)]
    return {title_of(name): trace.prompt.text for name, trace in own[:SHOWN]} or form.examples_for(pair)


def check_new(folder: Path, pair: str, prompts: int) -> None:
    """Refuse examples that the page could not show. Raises: PageError."""
    if pair in TITLES:
        raise PageError(f"{pair} is a bundled pair, which has its examples; name your own --target and --draft")
    if prompts < SHOWN:
        raise PageError(f"there are {prompts} prompts; give {SHOWN} or more, of which the best {SHOWN} are kept")
    if folder.exists() and any(folder.iterdir()):
        raise PageError(f"{str(folder)[:200]!r} is not empty; name a new folder")


def record_examples(pair: Pair, questions: Sequence[Question]) -> Iterator[Example]:
    """Decode each prompt with the settings of the page's form, and check the trace. Raises: as ``dsbd.decode``."""
    titles = [*map(_title, questions)]
    for title, one in zip(titles, questions, strict=True):
        result = dsbd.decode(pair, one.prompt, form.preset("exact", pair.target.id), record=True)
        assert result.trace is not None
        assert dsbd.verify_trace(result.trace).passed
        name = title if titles.count(title) == 1 else f"{title}-{one.id}"
        yield Example(name, result.trace, branching_of(result.trace), result.stats.layers_per_iteration)


def _title(question: Question) -> str:
    """Return the words of a prompt's button: those of its id, or its first ones where its id is only a number."""
    words = WORDS.findall(question.prompt if question.id.isdigit() else question.id)
    return "-".join(words[:4])[:40] or "prompt"


def branching_of(trace: Trace) -> int:
    """Return the most nodes that branch in one pass, where ``opening.js`` opens the decode."""
    passes = ([node.parent for node in one.nodes if node.kind != "drawn"] for one in trace.iterations)
    return max((len({one for one in parents if parents.count(one) > 1}) for parents in passes), default=0)


def save_best(examples: Sequence[Example], folder: Path) -> list[tuple[str, Example]]:
    """Save the best examples, the first of which opens the page; returns them with their file names.

    A straight line shows little: first come those with a pass that is a forest, then those with the most tokens a pass.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ranked = sorted(examples, key=lambda one: (one.branching < FOREST, -one.tokens_per_pass))
    saved = [(f"{number}-{one.title}.json.gz", one) for number, one in enumerate(ranked[:SHOWN], 1)]
    for name, one in saved:
        one.trace.save(folder / name)
    return saved
