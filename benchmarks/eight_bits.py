"""Eight bits beside float32, with SmolLM2 on a CPU: how near the distributions are, how far a node moves with the
number of others in its forest, how long passes take, and how often guesses change the text of a seed.

    python -m benchmarks.eight_bits --output record.json
    python -m benchmarks.eight_bits --variants  # blocks of 16 and of 32, the last matrix in eight bits or in float
    python -m benchmarks.eight_bits --texts     # the texts of a forest and of plain beam sampling, for the same seeds

A node is scored last among its siblings, in one pass with its beam, and alone: its path token by token, as sampling
does it. The cache before the beam is the same. The first of the siblings does not move at all. Total variation is 1 -
the sum of min(p, q), at temperature 1. Passes of all models and sizes take turns; needs ``python -m dsbd fetch
smollm2``.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import dsbd
from benchmarks.record import REWRITING
from dsbd.bench.tasks import load_task
from dsbd.machine import machine, versions
from dsbd.models.engines import onnx_graph
from dsbd.models.engines.choice import new_state
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.state import DecodingState
from dsbd.util import SMOLLM2, asset_path
from dsbd.verification.beams import Node

SIBLINGS, PASSES, START = (1, 4, 7, 16, 32), (1, 4, 16, 32), 64
NONE = torch.empty(0, dtype=torch.int64)
WIDTH, TOKENS, TEMPERATURES = 4, 64, (1.0, 0.3)
CHATS = (
    "What is the capital of France?", "Write a short poem about the sea.", "How do I boil an egg?",
    "Name five animals that live in the forest, and say what each of them eats.", "Why is the sky blue?",
    "Tell me a story about a clever fox.", "What is the difference between weather and climate?",
    "Write an invitation to a birthday party on Saturday afternoon.", "How does a bicycle stay upright?",
    "Give me three reasons to learn a second language.",
)  # fmt: skip


class FloatHead(onnx_graph._Int8Builder):
    """A builder of eight bits whose last matrix stays in float."""

    def _linear(self, name: str, *rest: Any) -> str:
        return onnx_graph.Builder._linear(self, name, *rest) if name == "head" else super()._linear(name, *rest)


def in_eight_bits(model: LanguageModel, block: int, builder: Any) -> LanguageModel:
    """Return a float model in eight bits, with blocks of this size."""
    rounded = replace(model, engine="onnx", weights="int8")
    with patch.multiple(onnx_graph, BLOCK=block, _Int8Builder=builder):
        opened(new_state(rounded), [0, 1])  # the graph is built at the first forward
    return rounded


def opened(state: DecodingState, ids: Sequence[int]) -> Node:
    """Read ids, at least two; return the beam that ends with the last of them, which is not in the cache yet."""
    root = Node(None, -1, 0)
    state.prefill(ids[:-1], root)
    state.begin([root], 0)
    state.forward(NONE, NONE, ())
    beam = root.child(ids[-1])
    state.commit([beam])
    return beam


def scored(state: DecodingState, beam: Node, tokens: Sequence[int]) -> torch.Tensor:
    """Return logits [1 + tokens, vocabulary] after the beam and after each token, all of them below the beam."""
    state.begin([beam], len(tokens))
    parents = torch.zeros(len(tokens), dtype=torch.int64)
    return state.forward(torch.tensor(tokens, dtype=torch.int64), parents, (len(tokens),) if tokens else ())


def distributions(model: LanguageModel, ids: Sequence[int], nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what follows each of so many nodes of a text, alone [nodes, vocabulary], and its total variation to the
    same among siblings [nodes, shapes].
    """
    state = new_state(model)
    beam, crowded, after, moved = opened(state, ids[:START]), NONE, list[torch.Tensor](), list[torch.Tensor]()
    for index in range(START, START + nodes + 1):
        logits = []
        for count in SIBLINGS:  # the siblings are the tokens that follow in the text
            logits.append(scored(state, beam, [*ids[index + 1 : index + 1 + count], ids[index]])[-1])
            state.commit([beam])
        alone = scored(state, beam, [])[0].double().softmax(0)  # what follows the node of the round before
        if index > START:
            after.append(alone.float())
            moved.append(1 - torch.minimum(crowded, alone).sum(1))
        crowded, beam = torch.stack(logits).double().softmax(1), beam.child(ids[index])
        state.commit([beam])
    return torch.stack(after), torch.stack(moved)


def pass_times(models: Mapping[str, LanguageModel], ids: Sequence[int], rounds: int) -> dict[str, dict[int, float]]:
    """Return the median milliseconds of a pass, by model and number of tokens; a first round warms up."""
    states = {name: new_state(model) for name, model in models.items()}
    beams = {name: opened(state, ids[:START]) for name, state in states.items()}
    times: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in models}
    for _ in range(rounds + 1):
        for size in PASSES:
            for name, state in states.items():
                start = time.perf_counter()
                scored(state, beams[name], ids[START : START + size - 1])
                times[name][size].append(1000 * (time.perf_counter() - start))
                state.commit([beams[name]])
    return {name: {size: statistics.median(own[size][1:]) for size in PASSES} for name, own in times.items()}


def compare_models(parsed: argparse.Namespace) -> list[dict[str, Any]]:
    """Print and return a row for each model, the float one last."""
    pair = dsbd.load_pair(SMOLLM2, weights="float", dtype="float32", engine="onnx")
    ids = pair.encode((asset_path("chapters") / "oz.txt").read_text(encoding="utf-8"), chat=False)
    end = START + parsed.nodes
    reference = pair.target.model(torch.tensor([ids[:end]])).logits[0, START:].softmax(1)
    builders = {"": onnx_graph._Int8Builder} | ({", float head": FloatHead} if parsed.variants else {})
    models = {
        f"eight bits, blocks of {block}{head}": in_eight_bits(pair.target, block, builder)
        for block in ((16, 32) if parsed.variants else (onnx_graph.BLOCK,))
        for head, builder in builders.items()
    } | {"float32": pair.target}
    times, rows = pass_times(models, ids, parsed.rounds), []
    print(f"| model | ms of a pass over {PASSES} tokens | overlap | moves among {SIBLINGS} siblings, mean | worst |")
    print("|" + " --- |" * 5)
    for name, model in models.items():
        after, moved = distributions(model, ids, parsed.nodes)
        overlap = float(torch.minimum(after, reference).sum(1).mean())
        figures = [
            times[name],
            *(dict(zip(SIBLINGS, one.tolist(), strict=True)) for one in (moved.mean(0), moved.amax(0))),
        ]
        took, *moves = (" / ".join(f"{one:.3g}" for one in figure.values()) for figure in figures)
        print(f"| {name} | {took} | {overlap:.2%} | {' | '.join(moves)} |", flush=True)
        rows.append(dict(zip(("milliseconds", "mean_moved", "worst_moved"), figures, strict=True)))
        rows[-1] |= {"model": name, "nodes": parsed.nodes, "overlap": overlap}
    return rows


def compare_texts(parsed: argparse.Namespace) -> list[dict[str, Any]]:
    """Print and return how many texts of a forest are those of plain beam sampling, and where the others part."""
    pair, rows = dsbd.load_pair(SMOLLM2), []
    prompts = {"corrections": [one.prompt for one in load_task("jsonl", REWRITING).questions()], "chats": CHATS}
    print(pair.fallbacks, flush=True)
    for kind, temperature in [(kind, one) for kind in prompts for one in TEMPERATURES]:
        parted = []
        for seed, prompt in enumerate(prompts[kind][: parsed.prompts]):
            common: Any = {"temperature": temperature, "max_new_tokens": TOKENS, "seed": seed}
            guessed = {"min_width": WIDTH, "max_width": WIDTH, "draft_depth": 8, "draft_width": 4}
            own = dsbd.decode(pair, prompt, **common, **guessed).token_ids
            plain = dsbd.decode(pair, prompt, method="beam_sampling", num_beams=WIDTH, **common).token_ids
            same = [one == other for one, other in zip(own, plain, strict=False)]
            parted.append(None if own == plain else ([*same, False]).index(False))
        places = [one for one in parted if one is not None]
        rows.append({"prompts": kind, "temperature": temperature, "parted_at": parted})
        median = f", the others part at token {statistics.median(places):g} in the median" if places else ""
        print(f"{kind}, temperature {temperature}: {parted.count(None)} of {len(parted)} equal{median}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare eight bits with float32", allow_abbrev=False)
    parser.add_argument("--variants", action="store_true", help="blocks of 16 and 32, the last matrix rounded or not")
    parser.add_argument("--texts", action="store_true", help="compare texts instead")
    parser.add_argument("--nodes", type=int, default=500, help="of each shape (500)")
    parser.add_argument("--rounds", type=int, default=30, help="of passes (30)")
    parser.add_argument("--prompts", type=int, default=10, help="of each kind (10)")
    parser.add_argument("--output", type=Path, help="write the record to this file, as JSON")
    parsed = parser.parse_args()
    with torch.inference_mode():
        rows = (compare_texts if parsed.texts else compare_models)(parsed)
    if parsed.output:
        record = {"machine": machine(torch.device("cpu")), "versions": versions(), "rows": rows}
        parsed.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
