"""What ``torchrun`` starts in every process of a test: it decodes in step, and the first process reports."""

import io
import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace

import torch
from transformers import AutoModelForCausalLM

import dsbd
from dsbd.__main__ import main as command_line
from dsbd.contest.contenders import contenders
from dsbd.contest.contest import make_contest
from dsbd.contest.tasks import Prompts
from tests.models.test_ranks import MODES, PROMPT, SETTINGS, outcome
from tests.toy_pair import toy_tokenizer


class Stop:
    """Asks to stop at the given time in the first process, and at once in the others."""

    def __init__(self, rank: int, calls: int) -> None:
        self.left = calls if rank == 0 else 0

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def message(function, *given, **named) -> str:
    try:
        function(*given, **named)
    except dsbd.errors.DsbdError as error:
        return str(error)
    return "nothing was raised"


def printed(target: str, draft: str) -> str:
    """Return what the command line prints in this process."""
    flags = ["--prompt", PROMPT, "--target", target, "--draft", draft, "--device", "cpu", "--dtype", "float64"]
    settings = ["--max-new-tokens", "10", "--draft-depth", "2", "--draft-width", "3", "--seed", "3"]
    with redirect_stdout(io.StringIO()) as out:
        assert command_line(["decode", "--tensor-parallel", "--json", *flags, *settings]) == 0
    return out.getvalue()


def main(target: str, draft: str, folder: str) -> None:
    pair = dsbd.load_pair(target, draft, device="cpu", dtype="float64", load_kwargs={"tp_plan": "auto"})
    rank = pair.ranks.number
    heads = {shape.keys[0] for shape in pair.target.layer_shapes}
    whole = AutoModelForCausalLM.from_pretrained(draft, dtype=torch.float64, trust_remote_code=False)
    mixed = dsbd.make_pair(pair.target.model, whole, toy_tokenizer())
    found = {
        "heads": sorted(heads),
        "engines": [pair.target.engine, pair.draft.engine, mixed.draft.engine],
        "fallbacks": pair.fallbacks,
        "decoded": {mode: outcome(dsbd.decode(pair, PROMPT, replace(SETTINGS, **MODES[mode]))) for mode in MODES},
        "mixed": outcome(dsbd.decode(mixed, PROMPT, SETTINGS)),
        "recorded": len(dsbd.decode(pair, PROMPT, SETTINGS, record=True).trace.iterations) > 1,
        "stopped": message(dsbd.decode, pair, PROMPT, SETTINGS, stop=Stop(rank, 9)),
        "other seeds": message(dsbd.decode, pair, PROMPT, replace(SETTINGS, seed=rank)),
        "auto": message(dsbd.decode, pair, PROMPT, replace(SETTINGS, forest="auto")),
        "bench": message(make_contest, pair, contenders(["beam_sampling"], {}), [Prompts([PROMPT])]),
        "eval": message(dsbd.evaluate, pair, ["stories"], folder),
    }
    output = printed(target, draft)
    assert bool(output) == pair.reports
    if pair.reports:
        found["command line"] = json.loads(output)["token_ids"]
        print(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
