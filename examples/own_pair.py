"""Decode with your own target and draft model, while the text grows.

python -m examples.own_pair TARGET DRAFT "Once upon a time"

TARGET and DRAFT are folders or hub ids of two causal language models with the same vocabulary.
"""

import sys

import dsbd

target, draft, prompt = sys.argv[1:4]
pair = dsbd.load_pair(target, draft)
for update in dsbd.stream(pair, prompt, dsbd.DecodingSettings(max_new_tokens=32)):
    print(f"settled: {update.settled_text!r}")
print(f"result:  {update.text!r}")
