"""Beam search of CTranslate2 as an opponent: the target, converted by its own converter, on its own kernels.

Its law is beam *search*: the likeliest beams of every step, no draws. So its time per token is comparable with that of
four beams here, and its texts are those of a search. It has no draft model.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

import torch

from dsbd.errors import PairError, first_line
from dsbd.measure.bench.contenders import CTRANSLATE2
from dsbd.measure.bench.records import Hypotheses
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.quiet import without_progress
from dsbd.settings import DecodingSettings


@dataclass
class _Converted:
    """A target in the format of CTranslate2, in a folder that is removed with it, and what was loaded from there."""

    folder: Any
    generators: dict[str, Any] = field(default_factory=dict)


_converted: WeakKeyDictionary[LanguageModel, _Converted] = WeakKeyDictionary()


def search(pair: Pair, prompt_ids: Sequence[int], method: str, settings: DecodingSettings) -> Hypotheses:
    """Run beam search with ``settings.num_beams`` beams. Raises: PairError: as :func:`generator_of`.

    Its steps are not counted: there were as many as the longest hypothesis has tokens, or more.
    """
    generator = generator_of(pair, method)
    (result,) = generator.generate_batch(
        [pair.tokenizer.convert_ids_to_tokens(list(prompt_ids))],
        beam_size=settings.num_beams,
        num_hypotheses=settings.num_beams,
        max_length=settings.max_new_tokens,
        length_penalty=settings.length_penalty,
        end_token=sorted(pair.eos),
        return_end_token=True,
        include_prompt_in_result=False,
    )
    steps = max(map(len, result.sequences_ids))
    return Hypotheses([list(ids) for ids in result.sequences_ids], steps, steps)


def search_prefill_seconds(pair: Pair, prompt_ids: Sequence[int], method: str) -> float:
    """Time a call for one token: the prompt's forward, and one choice."""
    start = time.perf_counter()
    search(pair, prompt_ids, method, DecodingSettings(method="greedy", num_beams=1, max_new_tokens=1))
    return time.perf_counter() - start


def generator_of(pair: Pair, method: str) -> Any:
    """Return the target on the kernels of CTranslate2: converted at the first call, loaded once for each number format.

    Raises:
        PairError: CTranslate2 is not installed, or has no such model or number format.
    """
    remedy = f"or leave {method} out of the methods"
    if find_spec("ctranslate2") is None:
        raise PairError(f"{method} needs CTranslate2, which is not installed; install dsbd[ctranslate2], {remedy}")
    import ctranslate2

    wanted, place = CTRANSLATE2[method], pair.device.type
    known = sorted(ctranslate2.get_supported_compute_types(place))
    if wanted not in known:
        raise PairError(f"{method}: CTranslate2 does not compute {wanted} on this {place} ({', '.join(known)}); "
                        f"choose another number format, {remedy}")  # fmt: skip
    if pair.target not in _converted:
        _converted[pair.target] = _Converted(_convert(pair, remedy))
    found = _converted[pair.target]
    if wanted not in found.generators:
        path = str(Path(found.folder.name) / "converted")
        threads = torch.get_num_threads()
        found.generators[wanted] = ctranslate2.Generator(path, place, compute_type=wanted, intra_threads=threads)
    return found.generators[wanted]


def _convert(pair: Pair, remedy: str) -> Any:
    """Return a temporary folder with the converted target. Raises: PairError: there is no converter for it."""
    from ctranslate2.converters import TransformersConverter

    folder = TemporaryDirectory(prefix="dsbd-ctranslate2-")
    source = str(Path(folder.name) / "source")
    try:
        with without_progress:
            pair.target.model.save_pretrained(source)
            pair.tokenizer.save_pretrained(source)
            TransformersConverter(source).convert(str(Path(folder.name) / "converted"))
    except (ValueError, RuntimeError, TypeError, KeyError, AttributeError, OSError) as error:
        folder.cleanup()
        raise PairError(f"CTranslate2 cannot convert {pair.target.id}: {first_line(error)}; use another target, "
                        f"{remedy}") from None  # fmt: skip
    return folder
