"""Time and energy at a larger model's cost: decoders race on a *surrogate*, a Llama of 7 billion around a small one.

    python -m benchmarks.surrogate
    python -m benchmarks.surrogate --pair smollm2 --task jsonl=benchmarks/rewriting.jsonl

A surrogate has the weights and passes of a large model, and gives the logits of a small one up to rounding: guesses are
kept as often as there, and nothing is downloaded. It pads the residual stream with zeros, so its mean square is d / d'
of the small model's (d, d' are hidden sizes): weights of norms become weight * sqrt(d / d'), epsilons eps * d / d'.
What further heads, units and layers write to the stream is multiplied by zero. The vocabulary stays, because rows of
zeros would take probability. ``--device cpu --size tiny`` rehearses. Energy is the GPU's own counter.
"""

import argparse
import copy
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from transformers import LlamaForCausalLM

import dsbd
from benchmarks.record import COPIED, SURE
from dsbd.bench.measure import as_shipped, run_transformers, time_passes
from dsbd.bench.statistics import NONE, median_interval
from dsbd.bench.systems import System, systems
from dsbd.bench.tasks import load_task
from dsbd.drafts.lookup import LOOKUP
from dsbd.machine import machine, synchronise
from dsbd.models.pair import Pair
from dsbd.util import SMOLLM2


class Shape(NamedTuple):
    """The sizes of a Llama whose heads have 64 numbers."""

    hidden: int
    units: int
    layers: int
    heads: int
    key_heads: int


SHAPES = {"tiny": Shape(640, 2048, 32, 16, 4), "68M": Shape(768, 3072, 2, 12, 4), "8B": Shape(4096, 14336, 32, 64, 16)}
"""Llama 3 of 8B has half as many heads of 128 numbers: keys and values take as many bytes."""
PASSES = (1, 4, 8, 16, 32)
LEAST_OVERLAP = 0.95
"""Of the two distributions in bfloat16: they were 0.977 and 0.997."""
METHODS = "hf_beam_sampling,sampling,speculative,beam_sampling,dsbd:exact,dsbd"


def surrogate_of(original: Any, shape: Shape, device: str) -> LlamaForCausalLM:
    """Return a Llama of this shape, in the original's dtype, that computes the logits of a Llama without biases."""
    small, config = original.config, copy.deepcopy(original.config)
    config.hidden_size, config.intermediate_size, config.num_hidden_layers = shape.hidden, shape.units, shape.layers
    config.num_attention_heads, config.num_key_value_heads = shape.heads, shape.key_heads
    share, size = small.hidden_size / shape.hidden, small.head_dim
    config.rms_norm_eps = small.rms_norm_eps * share
    config.name_or_path = f"{shape.layers} layers of {shape.hidden}"
    with torch.device(device):
        surrogate: Any = LlamaForCausalLM._from_config(config, dtype=original.dtype)
    group, wide = small.num_attention_heads // small.num_key_value_heads, shape.heads // shape.key_heads
    heads = [head // group * wide + head % group for head in range(small.num_attention_heads)]
    rows = torch.cat([torch.arange(head * size, (head + 1) * size) for head in heads]).to(device)

    def put(weight: torch.Tensor, source: torch.Tensor) -> None:
        weight[tuple(map(slice, source.shape))] = source.to(weight)

    def put_norm(norm: Any, source: Any) -> None:
        put(norm.weight, source.weight.double() * math.sqrt(share))

    with torch.no_grad():
        for name, weight in surrogate.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight", "embed_tokens.weight")):
                weight.zero_()
        put(surrogate.model.embed_tokens.weight, original.model.embed_tokens.weight)  # the head is the same
        put_norm(surrogate.model.norm, original.model.norm)
        for layer, source in zip(surrogate.model.layers, original.model.layers, strict=False):
            for name in ("input_layernorm", "post_attention_layernorm"):
                put_norm(getattr(layer, name), getattr(source, name))
            for name in ("gate_proj", "up_proj", "down_proj"):
                put(getattr(layer.mlp, name).weight, getattr(source.mlp, name).weight)
            ours, theirs = layer.self_attn, source.self_attn
            for name in ("k_proj", "v_proj"):
                put(getattr(ours, name).weight, getattr(theirs, name).weight)
            ours.q_proj.weight[rows, : small.hidden_size] = theirs.q_proj.weight.to(ours.q_proj.weight)
            ours.o_proj.weight[: small.hidden_size, rows] = theirs.o_proj.weight.to(ours.o_proj.weight)
    surrogate.generation_config = copy.deepcopy(original.generation_config)
    return surrogate.eval()


def joules(device: torch.device) -> float:
    """Return what this GPU has used since its driver started, in joules; NaN where nothing counts it."""
    if device.type != "cuda" or find_spec("pynvml") is None:
        return math.nan
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1000
    except pynvml.NVMLError:  # this GPU has no counter
        return math.nan


class Block(NamedTuple):
    """All prompts of one system in one round."""

    seconds: list[float]
    layers: list[int]
    """Tokens that were decoded, by prompt."""
    calls: int
    joules: float


def decode_all(pair: Pair, one: System, prompts: Sequence[str], seed: int, stop: Sequence[str]) -> Block:
    """Decode every prompt, the clock around each, the counter of energy around all."""
    seconds, layers, calls, before = list[float](), list[int](), 0, joules(pair.device)
    for index, prompt in enumerate(prompts):
        settings = replace(one.settings, seed=1000 * seed + index)
        synchronise(pair.device)
        start = time.perf_counter()
        if one.is_ours:
            counts = asdict(dsbd.decode(pair, prompt, settings, stop=stop).stats)
        else:
            with as_shipped(pair):
                counts = run_transformers(pair, pair.encode(prompt), one.method, settings, stop)[1]
        synchronise(pair.device)
        seconds.append(time.perf_counter() - start)
        layers.append(counts["layers"])
        calls += counts["target_calls"]
    return Block(seconds, layers, calls, joules(pair.device) - before)


def cells_of(own: Sequence[Block], base: Sequence[Block]) -> str:
    """Return a system's cells: times, ratios to the baseline by prompt and by round, and layers a pass."""
    paces = [[s / n for s, n in zip(block.seconds, block.layers, strict=True)] for block in (*own, *base)]
    mine, theirs = paces[: len(own)], paces[len(own) :]
    ratios = [[b / a for a, b in zip(*pair, strict=True)] for pair in zip(mine, theirs, strict=True)]
    times = median_interval(list(zip(*ratios, strict=True)))
    per_token = [block.joules / sum(block.layers) for block in own]
    saved = [b.joules / sum(b.layers) / e for b, e in zip(base, per_token, strict=True)]
    energy = (
        "not measured"
        if math.isnan(saved[0])
        else f"{statistics.median(per_token):.2f}; {statistics.median(saved):.2f}"
    )
    interval = NONE if times.low is None else f"[{times.low:.2f}, {times.high:.2f}]"
    pace = 1000 * statistics.median(one for block in mine for one in block)
    layers = sum(sum(block.layers) for block in own) / sum(block.calls for block in own)
    return f"{pace:.2f} | {times.median:.2f} {interval} | {energy} | {layers:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Race decoders on a surrogate", allow_abbrev=False)
    parser.add_argument("--pair", default="sql", choices=("sql", SMOLLM2))
    parser.add_argument("--task", default="sql", help="NAME or NAME=PATH, as for eval --data (sql)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", default="8B", choices=SHAPES, help="of the target (8B)")
    parser.add_argument("--draft-size", default="68M", choices=SHAPES, help="(68M)")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--limit", type=int, default=12, help="prompts (12)")
    parser.add_argument("--rounds", type=int, default=2, help="(2)")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="(64)")
    parsed = parser.parse_args()

    name = parsed.pair if parsed.pair == SMOLLM2 else f"bundled:{parsed.pair}"
    small = dsbd.load_pair(name, device=parsed.device, dtype="bfloat16", engine="eager", weights="float")
    task_name, _, data = parsed.task.partition("=")
    task = load_task(task_name, data or None)
    prompts = [question.prompt for question in task.questions(parsed.limit)]
    target = surrogate_of(small.target.model, SHAPES[parsed.size], parsed.device)
    tokens = torch.tensor([small.encode(prompts[0])], device=parsed.device)
    with torch.inference_mode():
        distributions = [model(tokens).logits.float().softmax(-1) for model in (small.target.model, target)]
    overlap = float(torch.minimum(*distributions).sum(-1).mean())
    print(
        f"{target.num_parameters() / 1e9:.2f} billion parameters, overlap with the small model {overlap:.4f}",
        flush=True,
    )
    if overlap < LEAST_OVERLAP:
        parser.error("the surrogate computes another distribution; choose a larger --size")
    drafts = [one.model for one in small.models[1:]]
    pair = dsbd.make_pair(
        target, surrogate_of(drafts[0], SHAPES[parsed.draft_size], parsed.device) if drafts else LOOKUP, small.tokenizer
    )
    print(machine(pair.device), [one.engine for one in pair.models], pair.fallbacks, flush=True)
    passes = time_passes(pair, prompts[0], PASSES, 3)
    took = {size: 1000 * statistics.median(each[size] for each in passes) for size in PASSES}
    print("passes, ms: " + ", ".join(f"{size} tokens {one:.2f}" for size, one in took.items()), flush=True)
    values = {"max_new_tokens": parsed.max_new_tokens, **(SURE if drafts else COPIED)}
    chosen = systems(parsed.methods.split(","), values)
    blocks: dict[str, list[Block]] = {one.name: [] for one in chosen}
    for round in range(-1, parsed.rounds):  # the first warms up and captures graphs
        for one in chosen[round % len(chosen) :] + chosen[: round % len(chosen)]:
            block = decode_all(
                pair, one, prompts[: 1 if round < 0 and not one.is_ours else None], round + 1, task.until
            )
            if round >= 0:
                blocks[one.name].append(block)
    print("| system | ms/token | × our beam sampling | J/token; less by × | tokens a pass |\n|" + " --- |" * 5)
    for name, own in blocks.items():
        print(f"| {name} | {cells_of(own, blocks['beam_sampling'])} |", flush=True)


if __name__ == "__main__":
    main()
