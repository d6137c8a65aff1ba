"""Measure three methods side by side on one prompt, and draw the result.

python -m examples.compare
"""

import dsbd
import visualize
from dsbd.measure.comparison import compare

pair = dsbd.load_pair()
settings = dsbd.DecodingSettings(max_new_tokens=32, num_beams=4)
for progress in compare(pair, "One day a small fox", settings, ["dsbd", "beam_sampling", "greedy"], runs=2):
    print(f"{progress.done} of {progress.total}: {progress.method}")

for row in progress.result["methods"]:
    print(f"{row['method']:14} {row['tokens_per_second']:6.0f} tokens/s, perplexity {row['perplexity']:.2f}")
visualize.compare_figure(progress.result).write_html("compare.html")
