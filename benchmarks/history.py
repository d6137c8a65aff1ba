"""What guesses without a second model are worth: each way decodes a question in turn with four beams of beam sampling.

The SQL target with the right queries of the validation questions as its history, alone and beside its draft model; with
the right answer, one of which a word was changed, and another text as its guess; SmolLM2 correcting texts and chatting,
where it has been fetched:

    python -m benchmarks.history --limit 20

Against the lookup of another commit, run the rows of SmolLM2 in both: layers an iteration depend on no clock.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dsbd
from dsbd.bench.files import json_lines
from dsbd.bench.tasks import load_task
from dsbd.drafts.history import History
from dsbd.models.pair import Pair
from dsbd.models.smollm2 import fetched
from dsbd.util import asset_path

EXACT = {"min_width": 4, "max_width": 4}
CHAT = ["Why is the sky blue?", "Name three animals of the forest.", "How do I boil an egg?", "What is a noun?"]
WRONG = "It is a long way from here to the sea, and nobody knows who lives there."
Way = tuple[str, Pair, dict[str, Any], Callable[[str, str], dict[str, Any]]]
"""A name, a pair, settings, and what is known of a prompt and its text."""


class Kept(History):
    """A history that stays as it is."""

    def add(self, ids: Sequence[int], context: Sequence[int] = ()) -> None:
        """Leave the answer out."""


def sql_history(pair: Pair) -> History:
    """Return the right queries of the validation questions."""
    history = Kept()
    for _, entry in json_lines(asset_path("tasks/sql/validation.jsonl")):
        prompt = pair.encode(entry["prompt"])
        History.add(history, [*pair.continuation(prompt, f" {entry['sql']}"), *pair.eos], prompt)
    return history


def changed(text: str) -> str:
    """Return a text with another word in its middle."""
    words = text.split(" ")
    words[len(words) // 2] = "title" if words[len(words) // 2] != "title" else "year"
    return " ".join(words)


def measure(pair: Pair, prompts: Sequence[str], ways: Sequence[Way]) -> None:
    """Print the layers an iteration of each way, and how many times as fast as beam sampling it is: the median."""
    rates: dict[str, list[float]] = {name: [] for name, *_ in ways}
    counts = {name: [0, 0] for name in rates}
    for number, prompt in enumerate(prompts):
        options = {"max_new_tokens": 64, "seed": number}
        plain = dsbd.decode(pair, prompt, method="beam_sampling", num_beams=4, **options)
        for name, used, settings, known in ways:
            result = dsbd.decode(used, prompt, **options, **EXACT, **settings, **known(prompt, plain.text))
            rates[name].append(result.stats.tokens_per_second / plain.stats.tokens_per_second)
            counts[name] = [counts[name][0] + result.stats.layers, counts[name][1] + result.stats.iterations]
    for name, (layers, iterations) in counts.items():
        print(
            f"{name}: {layers / iterations:.2f} layers an iteration, {statistics.median(rates[name]):.2f} x", flush=True
        )


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=20, help="questions of each task (20)")
    limit = parser.parse_args().limit
    pair = dsbd.load_pair("bundled:sql")
    alone, history = replace(pair, draft=None), sql_history(pair)
    whole, deep, broad = ({"draft_depth": depth, "draft_width": 4} for depth in (20, 12, 4))
    sql: list[Way] = [
        ("draft model", pair, deep, lambda *_: {}),
        ("history", alone, broad, lambda *_: {"history": history}),
        ("history and draft model", pair, deep, lambda *_: {"history": history}),
        ("right guess", alone, whole, lambda _, text: {"guess": text}),
        ("wrong guess", alone, whole, lambda *_: {"guess": WRONG}),
        ("guess with a word changed", alone, whole, lambda _, text: {"guess": changed(text)}),
    ]
    measure(pair, [one.prompt for one in load_task("sql").questions(limit)], sql)
    if fetched() is not None:
        chat, folder = dsbd.load_pair("smollm2"), Path(__file__).parent
        corrections = [entry["prompt"] for _, entry in json_lines(folder / "rewriting.jsonl")][:limit]
        for name, prompts in (("corrections", corrections), ("free chat", CHAT[:limit])):
            measure(chat, prompts, [(name, chat, {"draft_depth": 6, "draft_width": 4}, lambda *_: {})])


if __name__ == "__main__":
    main()
