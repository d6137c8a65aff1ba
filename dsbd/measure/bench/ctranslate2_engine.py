"""CTranslate2 for :mod:`dsbd.measure.bench.foreign`: beam search over the target, converted by its own converter.

Its law is beam *search*: the likeliest beams of every step, no draws. So its time per token is comparable with that of
four beams here, and its texts are those of a search. It has no draft model.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CONVERT = """
import sys
from ctranslate2.converters import TransformersConverter
TransformersConverter(sys.argv[1]).convert(sys.argv[2])
"""
_here: dict[str, Any] = {}


def load(folder: str, number_format: str, device: str, threads: int, ends: Sequence[int]) -> None:
    """Convert the model in a folder, unless that was done, and load it.

    Args:
        folder: of a model and its tokenizer, in the format of transformers; the converted one is kept beside it.
        number_format: what it computes in, such as ``float32``.
        device: ``cpu`` or ``cuda``.
        threads: of a forward.
        ends: ids that end a text.

    Raises:
        ValueError: CTranslate2 has no such number format here, or no converter for this model.
    """
    sys.modules["torch"] = None  # type: ignore[assignment]  # its converters load torch, and with it another OpenMP
    import ctranslate2

    known = sorted(ctranslate2.get_supported_compute_types(device))
    if number_format not in known:
        raise ValueError(
            f"CTranslate2 does not compute {number_format} on this {device} ({', '.join(known)}); choose another "
            "number format"
        )
    converted = Path(f"{folder}-ctranslate2")
    if not converted.exists():
        command = [sys.executable, "-c", CONVERT, folder, str(converted)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "its converter stopped"
            raise ValueError(f"CTranslate2 cannot convert this model: {said}; use another target")
    _here["generator"] = ctranslate2.Generator(
        str(converted), device, compute_type=number_format, intra_threads=threads
    )
    _here["tokens"] = json.loads((converted / "vocabulary.json").read_text(encoding="utf-8"))
    _here["ends"] = list(ends)


def generate(
    prompt_ids: Sequence[int], beams: int, max_new_tokens: int, length_penalty: float
) -> tuple[list[list[int]], float]:
    """Search once.

    Returns:
        The generated ids of every beam, EOS included, the best first; and the seconds that it took.
    """
    tokens = [_here["tokens"][id] for id in prompt_ids]
    start = time.perf_counter()
    (result,) = _here["generator"].generate_batch(
        [tokens],
        beam_size=beams,
        num_hypotheses=beams,
        max_length=max_new_tokens,
        length_penalty=length_penalty,
        end_token=_here["ends"],
        return_end_token=True,
        include_prompt_in_result=False,
    )
    seconds = time.perf_counter() - start
    return [list(ids) for ids in result.sequences_ids], seconds
