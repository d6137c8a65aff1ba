"""Writes the stories between the two sentences of the task `needle`: ``python -m benchmarks.needle_stories``.

The bundled story target writes them from nothing, at temperature 1 with top-k 50. The result is committed:
`assets/tasks/needle/stories.txt`. With another version of torch the stories may be others.
"""

from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dsbd.assets import asset_path
from dsbd.files import write_file
from dsbd.tasks.needle import STORIES

CHARACTERS = 60_000
ASKED = "secret animal"
"""No story may speak of it."""
ROWS, NEW_TOKENS, TOP_K, SEED = 32, 400, 50, 0


def write_stories() -> list[str]:
    """Return stories that came to their end, about so many characters in all."""
    folder = asset_path("models/stories/target")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    begin = torch.full((ROWS, 1), model.config.bos_token_id)
    torch.manual_seed(SEED)
    found = dict[str, None]()
    while sum(map(len, found)) < CHARACTERS:
        rows = model.generate(
            begin,
            attention_mask=torch.ones_like(begin),
            do_sample=True,
            top_k=TOP_K,
            max_new_tokens=NEW_TOKENS,
            pad_token_id=model.config.eos_token_id,
        )
        whole = [row for row in rows[:, 1:] if model.config.eos_token_id in row]
        texts = [_without_blank_lines(tokenizer.decode(row).split(tokenizer.eos_token)[0]) for row in whole]
        found |= dict.fromkeys(text for text in texts if text and ASKED not in text.lower())
        print(f"{sum(map(len, found))} characters of {CHARACTERS}", flush=True)
    return list(found)


def _without_blank_lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


if __name__ == "__main__":
    path = asset_path(STORIES)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, ("\n\n".join(write_stories()) + "\n").encode())
