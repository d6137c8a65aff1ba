"""The folder of an evaluation: its settings, and its predictions as JSON lines, written as soon as they are made.

An evaluation can go on in an existing folder: it does not repeat what is there. Each of several processes writes a
file of its own; at the end all of them become one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.records import Job, Prediction
from dsbd.measure.bench.json_lines import append_line, cannot_write, read_lines, write_text
from dsbd.measure.bench.plain import from_plain, to_plain
from dsbd.measure.bench.results_file import difference

FORMAT = "dsbd-eval/1"
HEAD = "evaluation.json"
PREDICTIONS = "predictions.jsonl"
PARTS = "predictions-of-process-*.jsonl"
REMEDY = "name another --output-path"
COMPARED = ("asked", "conditions")
"""Parts of the head that must be equal where an evaluation goes on."""


class Store:
    """The folder of one evaluation.

    Args:
        folder: it is made where it does not exist.
        process: the number of this process; None where it is the only one.

    Raises:
        SettingsError: the folder cannot be used, or what is in it is no evaluation.
    """

    def __init__(self, folder: str | Path, process: int | None = None) -> None:
        self.folder = Path(folder)
        self._own = self.folder / (PREDICTIONS if process is None else PARTS.replace("*", str(process)))
        self._found: dict[tuple[str, str, str, int], Prediction] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        self.head: dict[str, Any] | None = _read_head(self.folder / HEAD)
        for path in [self.folder / PREDICTIONS, *sorted(self.folder.glob(PARTS))]:
            if path.exists():
                read_lines(path, self._take, "a file of predictions", REMEDY)

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """Everything predicted so far."""
        return tuple(self._found.values())

    def has_all(self, jobs: Iterable[Job]) -> bool:
        """Say whether every one of these decodes is there."""
        return all(job.key in self._found for job in jobs)

    def begin(self, head: Mapping[str, Any], write: bool = True) -> None:
        """Take the settings of an evaluation, or go on with it where they are those of the folder.

        Args:
            head: plain data, with the fields of :data:`COMPARED`.
            write: whether this process writes them.

        Raises:
            SettingsError: the folder has another evaluation; the message names what differs.
        """
        plain = json.loads(json.dumps(head))
        if self.head is None:
            self.head = plain
            if write:
                write_text(self.folder / HEAD, json.dumps(plain, indent=2) + "\n")
            return
        self.require_same({part: plain.get(part) for part in COMPARED})

    def require_same(self, parts: Mapping[str, Any]) -> None:
        """Refuse to go on where a part of the head is another. Raises: SettingsError, which names what differs."""
        for part, new in json.loads(json.dumps(parts)).items():
            changed = difference((self.head or {}).get(part), new)
            if changed is not None:
                raise SettingsError(
                    f"{str(self.folder)!r} has an evaluation with other settings: {part}.{changed}; {REMEDY}, or ask "
                    "for the same again"
                )

    def note(self, **facts: Any) -> None:
        """Add facts to the head, such as what ``auto`` resolved to."""
        assert self.head is not None, "an evaluation has begun"
        self.head |= json.loads(json.dumps(facts))
        write_text(self.folder / HEAD, json.dumps(self.head, indent=2) + "\n")

    def add(self, prediction: Prediction) -> None:
        """Keep a prediction; it is in the file when this returns."""
        self._found[prediction.key] = prediction
        append_line(self._own, _line(prediction))

    def take_all(self, predictions: Iterable[Prediction]) -> None:
        """Take predictions that other processes made, without writing them."""
        self._found |= {prediction.key: prediction for prediction in predictions}

    def merge(self, order: Sequence[tuple[str, str, str, int]]) -> None:
        """Write everything into one file, in the order of the keys given, and remove the files of other processes."""
        place = {key: number for number, key in enumerate(order)}
        self._found = dict(sorted(self._found.items(), key=lambda item: place.get(item[0], len(place))))
        lines = [json.dumps(_line(one), ensure_ascii=True, allow_nan=False) + "\n" for one in self._found.values()]
        write_text(self.folder / PREDICTIONS, "".join(lines))
        for path in self.folder.glob(PARTS):
            path.unlink(missing_ok=True)

    def _take(self, record: dict[str, Any]) -> None:
        prediction = from_plain(Prediction, record)
        self._found[prediction.key] = prediction


def read_store(folder: str | Path) -> Store:
    """Return the folder of an evaluation that was begun. Raises: SettingsError: there is none."""
    if not (Path(folder) / HEAD).is_file():
        raise SettingsError(f"{str(folder)!r} has no {HEAD}; name the --output-path of an evaluation")
    return Store(folder)


def _read_head(path: Path) -> dict[str, Any] | None:
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']!r}")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"cannot read {str(path)!r}: {error.strerror or error}; {REMEDY}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SettingsError(f"{str(path)!r} is not the head of an evaluation ({error}); {REMEDY}") from None
    found: dict[str, Any] = head
    return found


def _line(prediction: Prediction) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(prediction)
    return plain
