"""Measures what lossless means: compares many decodes of a tiny pair with the exact law, by the chi-square.

The pair knows three words. So one can add up the exact law of the beams that beam sampling of width two has after
three layers. Decodes by DSBD must follow it. Two wrong decoders show that the test would notice an error: one accepts
every draft, and one uses the draft model alone.

Writes ``assets/lessons/lossless.json``, ``lossless.svg`` and a trace for the fifth lesson, and ``three-words.json``:
the laws of both models as tables, with which the lesson's page decodes itself.

python -m benchmarks.lossless_lab
"""

import json
import math
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from unittest import mock

import torch
from lossless_chart import chart
from scipy import stats
from tiny_llama import scattered, tiny_llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import dsbd
from dsbd.files import write_file
from dsbd.law.laws import Residual
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair

FOLDER = Path(__file__).parents[1] / "assets" / "lessons"
WORDS = ["red", "blue", "green"]
PROMPT, WIDTH, LAYERS, RUNS, LEAST = "red", 2, 3, 5000, 5
SETTINGS = {
    "max_new_tokens": LAYERS, "draft_depth": 2, "draft_width": 3, "min_width": WIDTH, "max_width": WIDTH, "top_k": 0
}  # fmt: skip
TRACE_SEED = 11
Path_ = tuple[int, ...]
Beams = tuple[tuple[Path_, int], ...]


def tiny(seed: int, wobble: float) -> LanguageModel:
    """Make a model of three words with random weights; models of two seeds differ by ``wobble``."""
    torch.manual_seed(4)
    model = scattered(tiny_llama(len(WORDS), None), 0.35, seed, wobble)
    return LanguageModel(model, f"three words, {'target' if not wobble else 'draft'}")


def tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token per word, the space in front."""
    words = Tokenizer(models.WordLevel({f"Ġ{word}": at for at, word in enumerate(WORDS)}, unk_token=f"Ġ{WORDS[0]}"))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    words.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=words, clean_up_tokenization_spaces=False)


@torch.inference_mode()
def next_word(model: LanguageModel, path: Path_) -> list[float]:
    """Return the model's law of the next word, from a separate forward."""
    ids = [WORDS.index(PROMPT), *path]
    return model.model(torch.tensor([ids])).logits[0, -1].softmax(0).tolist()


def table(model: LanguageModel) -> dict[str, list[float]]:
    """Return the law of the next word after every path that a decode can meet; a path is one digit for each word."""
    paths = [path for length in range(LAYERS) for path in product(range(len(WORDS)), repeat=length)]
    return {"".join(map(str, path)): next_word(model, path) for path in paths}


def exact_law(model: LanguageModel) -> dict[Beams, float]:
    """Return every multiset of beams that beam sampling can end with, and its probability."""
    law: dict[Beams, float] = {(((), 1),): 1.0}
    weights: dict[Path_, float] = {(): 0.0}
    for _ in range(LAYERS):
        after: dict[Beams, float] = defaultdict(float)
        for beams, probability in law.items():
            mass = {}
            for path, count in beams:
                for word, chance in enumerate(next_word(model, path)):
                    below = (*path, word)
                    weights[below] = weights[path] + math.log(chance)
                    mass[below] = count * math.exp(weights[below])
            total = sum(mass.values())
            for one, first in mass.items():
                for other, second in mass.items():
                    ends = tuple(sorted(Counter([one, other]).items()))
                    after[ends] += probability * first * second / total**2
        law = after
    return dict(law)


def decoded(pair: Pair, **changes: object) -> Counter[Beams]:
    """Count the final beams of ``RUNS`` decodes with seeds 0, 1, 2, ..."""
    found: Counter[Beams] = Counter()
    for seed in range(RUNS):
        result = dsbd.decode(pair, PROMPT, dsbd.DecodingSettings(**{**SETTINGS, "seed": seed, **changes}))
        found[tuple(sorted((tuple(beam.token_ids), beam.multiplicity) for beam in result.beams))] += 1
    return found


def compared(law: dict[Beams, float], found: Counter[Beams]) -> dict[str, float]:
    """Compute Pearson's chi-square; outcomes expected fewer than five times share one bin."""
    assert not found.keys() - law.keys()
    bins = [(found[ends], chance * RUNS) for ends, chance in law.items() if chance * RUNS >= LEAST]
    rest = RUNS - sum(expected for _, expected in bins)
    if rest > 1e-9:
        bins.append((RUNS - sum(count for count, _ in bins), rest))
    observed, expected = zip(*bins, strict=True)
    statistic, p_value = stats.chisquare(observed, [value * RUNS / sum(expected) for value in expected])
    distance = sum(abs(found[ends] / RUNS - chance) for ends, chance in law.items()) / 2
    return {"chi_square": float(statistic), "degrees_of_freedom": len(bins) - 1, "p_value": float(p_value),
            "total_variation": distance}  # fmt: skip


def named(ends: Beams) -> str:
    paths = (" ".join(WORDS[word] for word in path) + (f" ×{count}" if count > 1 else "") for path, count in ends)
    return " + ".join(paths)


def main() -> None:
    target, draft = tiny(0, 0.0), tiny(3, 0.12)
    FOLDER.mkdir(parents=True, exist_ok=True)
    tables = {"words": WORDS, "prompt": PROMPT, "layers": LAYERS, "target": table(target), "draft": table(draft)}
    write_file(FOLDER / "three-words.json", json.dumps(tables, indent=1) + "\n")
    pair = make_pair(target, draft, tokenizer())
    law = exact_law(target)
    assert math.isclose(sum(law.values()), 1.0, rel_tol=1e-12)
    found = {"dsbd": decoded(pair)}
    with mock.patch.object(Residual, "probability", return_value=1.0):
        found["accept_all"] = decoded(pair)
    found["draft_alone"] = decoded(make_pair(draft, None, tokenizer()), method="beam_sampling", num_beams=WIDTH)
    likeliest = sorted(law, key=lambda ends: -law[ends])[:14]
    rows = [
        {"outcome": named(ends), "expected": law[ends] * RUNS} | {name: counts[ends] for name, counts in found.items()}
        for ends in likeliest
    ]
    tests = {name: compared(law, counts) for name, counts in found.items()}
    first = {role: next_word(model, ()) for role, model in (("target", target), ("draft", draft))}
    report = {"runs": RUNS, "outcomes": len(law), "settings": SETTINGS, "prompt": PROMPT, "next_word": first,
              "tests": tests, "likeliest": rows}  # fmt: skip
    write_file(FOLDER / "lossless.json", json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    write_file(FOLDER / "lossless.svg", chart(rows, RUNS))
    trace = dsbd.decode(pair, PROMPT, dsbd.DecodingSettings(**SETTINGS, seed=TRACE_SEED), record=True).trace
    assert trace is not None
    assert dsbd.verify_trace(trace).passed
    trace.save(FOLDER / "traces" / "5-three-words.json.gz")
    print(json.dumps(tests, indent=1))


if __name__ == "__main__":
    main()
