"""Decode with the bundled pair, print what it took, and write a page that shows every forest.

python -m examples.decode_and_look
"""

import dsbd
import visualize

pair = dsbd.load_pair()
settings = dsbd.DecodingSettings(max_new_tokens=32, draft_depth=4, draft_width=6)
result = dsbd.decode(pair, "Once upon a time", settings, record=True)

print(result.text)
print(f"{result.stats.layers_per_iteration:.2f} layers per iteration, {result.stats.acceptance_rate:.0%} accepted")
result.trace.save("story.json.gz")
visualize.export_html(result.trace, "story.html")
print("Open story.html in a browser: it needs no server and no network.")
