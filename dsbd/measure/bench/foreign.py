"""Engines of others as opponents, each in a separate process.

Two engines in one process slow each other: each brings its own OpenMP runtime, and the threads of the idle one keep
spinning. So an engine runs in a separate process without torch, and computes only in its turn.

An engine is a module that this process imports without loading the engine, with two functions that run in the other:
``load(folder, number_format, device, threads, ends)`` and ``generate(prompt_ids, beams, max_new_tokens,
length_penalty)``, which returns ids and seconds.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import torch

from dsbd.bounded import BoundedProcess
from dsbd.errors import PairError, first_line
from dsbd.measure.bench.contenders import FOREIGN
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.quiet import without_progress
from dsbd.settings import DecodingSettings

LIMIT_SECONDS = 24 * 3600


class ForeignEngine:
    """A target in another engine's process, which ends with this object.

    Args:
        module: the engine; see the head of this file.
        pair: the models; only the target is used.
        folder: the target as ``save_pretrained`` writes it.
        number_format: what the engine computes in.

    Raises:
        PairError: the engine cannot run this target here.
    """

    def __init__(self, module: ModuleType, pair: Pair, folder: str, number_format: str) -> None:
        self._module, self._process = module, BoundedProcess(None)
        threads, ends = torch.get_num_threads(), sorted(pair.eos)
        self._call(module.load, folder, number_format, pair.device.type, threads, ends)

    def generate(self, prompt_ids: Sequence[int], settings: DecodingSettings) -> tuple[list[list[int]], float]:
        """Return the generated ids of every beam, EOS included, the best first; and the seconds that it took.

        Args:
            prompt_ids: ids of the prompt.
            settings: num_beams, max_new_tokens and length_penalty are read.

        Raises:
            PairError: the engine stopped.
        """
        asked = (list(prompt_ids), settings.num_beams, settings.max_new_tokens, settings.length_penalty)
        ids, seconds = self._call(self._module.generate, *asked)
        return ids, seconds

    def prefill_seconds(self, prompt_ids: Sequence[int]) -> float:
        """Return the seconds of a call for one token: the prompt's forward, and one choice."""
        _, seconds = self.generate(prompt_ids, DecodingSettings(method="beam_search", num_beams=1, max_new_tokens=1))
        return seconds

    def _call(self, function: Any, *arguments: Any) -> Any:
        try:
            return self._process.call(LIMIT_SECONDS, function, *arguments)
        except (ValueError, RuntimeError, OSError) as error:
            self._process.close()
            raise PairError(first_line(error)) from None


_folders: WeakKeyDictionary[LanguageModel, Any] = WeakKeyDictionary()
_engines: WeakKeyDictionary[LanguageModel, dict[str, ForeignEngine]] = WeakKeyDictionary()


def engine_of(pair: Pair, method: str) -> ForeignEngine:
    """Return the engine of a method of :data:`~dsbd.measure.bench.contenders.FOREIGN`, made at the first call.

    Raises:
        PairError: the engine is not installed, or cannot run this target here.
    """
    remedy = f"or leave {method} out of the methods"
    package, number_format = FOREIGN[method]
    if find_spec(package) is None:
        raise PairError(f"{method} needs {package}, which is not installed; install dsbd[{package}], {remedy}")
    engines = _engines.setdefault(pair.target, {})
    if method not in engines:
        try:
            module = import_module(f"dsbd.measure.bench.{package}_engine")
            engines[method] = ForeignEngine(module, pair, _saved(pair), number_format)
        except PairError as error:
            raise PairError(f"{method} on {pair.target.id}: {error}, {remedy}") from None
    return engines[method]


def _saved(pair: Pair) -> str:
    """Return a folder with the target, written at the first call; it is removed with the target."""
    if pair.target not in _folders:
        folder = TemporaryDirectory(prefix="dsbd-target-")
        with without_progress():
            pair.target.model.save_pretrained(Path(folder.name) / "target")
            pair.tokenizer.save_pretrained(Path(folder.name) / "target")
        _folders[pair.target] = folder
    return str(Path(_folders[pair.target].name) / "target")
