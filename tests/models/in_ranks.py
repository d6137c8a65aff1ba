"""What ``torchrun`` starts in every process of a test: it decodes in step, and the first process reports."""

import json
import sys
from dataclasses import replace

import torch
from transformers import AutoModelForCausalLM

import dsbd
from tests.models.test_ranks import MODES, PROMPT, SETTINGS, outcome
from tests.toy_pair import toy_tokenizer


def message(pair, settings, stop=None) -> str:
    try:
        dsbd.decode(pair, PROMPT, settings, stop=stop)
    except dsbd.DsbdError as error:
        return str(error)
    return "nothing was raised"


def main(target: str, draft: str) -> None:
    pair = dsbd.load_pair(target, draft, device="cpu", dtype="float64", load_kwargs={"tp_plan": "auto"})
    rank, asked = pair.ranks.number, []
    whole = AutoModelForCausalLM.from_pretrained(draft, dtype=torch.float64, trust_remote_code=False)
    mixed = dsbd.make_pair(pair.target.model, whole, toy_tokenizer())
    found = {
        "heads": sorted({shape.keys[0] for shape in pair.target.layer_shapes}),
        "engines": [pair.target.engine, pair.draft.engine, mixed.draft.engine],
        "fallbacks": pair.fallbacks,
        "decoded": {mode: outcome(dsbd.decode(pair, PROMPT, MODES[mode])) for mode in MODES},
        "mixed": outcome(dsbd.decode(mixed, PROMPT, SETTINGS)),
        "recorded": len(dsbd.decode(pair, PROMPT, SETTINGS, record=True).trace.iterations) > 1,
        # the first process asks to stop at its ninth call, the others at once
        "stopped": message(pair, SETTINGS, lambda: asked.append(1) or rank > 0 or len(asked) == 9),
        "other seeds": message(pair, replace(SETTINGS, seed=rank)),
    }
    if pair.reports:
        print(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
