"""Eight bits beside float32, SmolLM2 on a CPU: how near the distributions are, how far a node moves with the number of
others in its forest, and how long passes take; with --texts, how often guesses change the text of a seed.

    python -m benchmarks.eight_bits
    python -m benchmarks.eight_bits --texts

A node is scored last among its siblings, in one pass with its beam; and alone, token by token behind the same cache. It
moves by the total variation: 1 - the sum of min(p, q), at temperature 1. It needs ``python -m dsbd fetch smollm2``.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import dsbd
from benchmarks.record import REWRITING
from dsbd.bench.tasks import load_task
from dsbd.machine import machine, versions
from dsbd.models.engines.choice import new_state
from dsbd.models.states.state import DecodingState
from dsbd.util import SMOLLM2, asset_path
from dsbd.verification.beams import Node

SIBLINGS, NODES = (1, 4, 7, 16, 32), 500
PASSES, ROUNDS = (1, 4, 16, 32), 30
START = 64
"""Tokens of the text that are read first."""
PROMPTS = {"corrections": REWRITING, "chats": Path(__file__).with_name("chats.jsonl")}
COMMON: dict[str, Any] = {"max_new_tokens": 64}
COUPLED = COMMON | {"min_width": 4, "max_width": 4, "draft_depth": 8, "draft_width": 4}
NONE = torch.empty(0, dtype=torch.int64)


def opened(state: DecodingState, ids: Sequence[int]) -> Node:
    """Read ids, at least two; return the beam that ends with the last of them, which is not in the cache yet."""
    root = Node(None, -1, 0)
    state.prefill(ids[:-1], root)
    scored(state, root)
    beam = root.child(ids[-1])
    state.commit([beam])
    return beam


def scored(state: DecodingState, beam: Node, tokens: Sequence[int] = ()) -> torch.Tensor:
    """Return logits [1 + tokens, vocabulary] after a beam, and after tokens that stand below it side by side."""
    state.begin([beam], len(tokens))
    parents = torch.zeros(len(tokens), dtype=torch.int64)
    return state.forward(torch.tensor(tokens, dtype=torch.int64), parents, (len(tokens),) if tokens else ())


def distributions(state: DecodingState, ids: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what follows each of ``NODES`` tokens of a text, alone [nodes, vocabulary], and how far it moves among
    siblings [nodes, shapes].
    """
    beam, crowded, after, moved = opened(state, ids[:START]), NONE, list[torch.Tensor](), list[torch.Tensor]()
    for index in range(START, START + NODES + 1):
        logits = []
        for count in SIBLINGS:  # the siblings are the tokens that follow in the text
            logits.append(scored(state, beam, [*ids[index + 1 : index + 1 + count], ids[index]])[-1])
            state.commit([beam])
        alone = scored(state, beam)[0].double().softmax(0)  # what follows the token of the round before
        if index > START:
            after.append(alone.float())
            moved.append(1 - torch.minimum(crowded, alone).sum(1))
        crowded, beam = torch.stack(logits).double().softmax(1), beam.child(ids[index])
        state.commit([beam])
    return torch.stack(after), torch.stack(moved)


def pass_times(states: Sequence[DecodingState], ids: Sequence[int], sizes: Sequence[int] = PASSES) -> list[list[float]]:
    """Return median milliseconds of processor time by state and size of a pass, in turn; the first round warms up."""
    beams, rounds = [opened(state, ids[:START]) for state in states], list[list[float]]()
    for _ in range(ROUNDS + 1):
        rounds.append([])
        for size, (state, beam) in ((size, one) for size in sizes for one in zip(states, beams, strict=True)):
            start = time.process_time()
            scored(state, beam, ids[START : START + size - 1])
            rounds[-1].append(1000 * (time.process_time() - start))
            state.commit([beam])
    medians = [statistics.median(times) for times in zip(*rounds[1:], strict=True)]
    return [medians[index :: len(states)] for index in range(len(states))]


def compare_models() -> list[dict[str, Any]]:
    """Print and return a row for each model."""
    pairs = [dsbd.load_pair(SMOLLM2, weights="int8"), dsbd.load_pair(SMOLLM2, weights="float", dtype="float32")]
    ids = pairs[0].encode((asset_path("chapters") / "oz.txt").read_text(encoding="utf-8"), chat=False)
    reference = pairs[1].target.model(torch.tensor([ids[: START + NODES]])).logits[0, START:].softmax(1)
    times, rows = pass_times([new_state(pair.target) for pair in pairs], ids), []
    print(f"| weights | ms of a pass over {PASSES} tokens | overlap | moves among {SIBLINGS} siblings, mean | worst |")
    print("|" + " --- |" * 5)
    for pair, took in zip(pairs, times, strict=True):
        after, moved = distributions(new_state(pair.target), ids)
        overlap = float(torch.minimum(after, reference).sum(1).mean())
        row = {"milliseconds": took, "mean_moved": moved.mean(0).tolist(), "worst_moved": moved.amax(0).tolist()}
        cells = (" / ".join(f"{one:.3g}" for one in figures) for figures in row.values())
        print(f"| {pair.target.numbers} | {next(cells)} | {overlap:.2%} | {' | '.join(cells)} |", flush=True)
        rows.append({"weights": pair.target.numbers, "overlap": overlap} | row)
    return rows


def compare_texts() -> list[dict[str, Any]]:
    """Print and return how many texts of coupled draws are those of plain beam sampling, and where the others part."""
    pair, rows = dsbd.load_pair(SMOLLM2, weights="int8"), []
    for kind, temperature in [(kind, temperature) for kind in PROMPTS for temperature in (1.0, 0.3)]:
        parted = []
        for seed, question in enumerate(load_task("jsonl", PROMPTS[kind]).questions(10)):
            own, plain = (
                dsbd.decode(pair, question.prompt, temperature=temperature, seed=seed, **settings).token_ids
                for settings in (COUPLED, COMMON | {"method": "beam_sampling", "num_beams": 4})
            )
            same = [one == other for one, other in zip(own, plain, strict=False)]
            parted.append(None if own == plain else [*same, False].index(False))
        places = [one for one in parted if one is not None]
        rows.append({"prompts": kind, "temperature": temperature, "parted_at": parted})
        median = f", the others part at token {statistics.median(places):g} in the median" if places else ""
        print(f"{kind}, temperature {temperature}: {parted.count(None)} of {len(parted)} equal{median}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare eight bits with float32", allow_abbrev=False)
    parser.add_argument("--texts", action="store_true", help="compare texts instead")
    parser.add_argument("--output", type=Path, help="write a record to this file, as JSON")
    parsed = parser.parse_args()
    with torch.inference_mode():
        rows = compare_texts() if parsed.texts else compare_models()
    if parsed.output:
        record = {"machine": machine(torch.device("cpu")), "versions": versions(), "rows": rows}
        parsed.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
