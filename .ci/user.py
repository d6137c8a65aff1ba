"""What a user writes: .ci/run holds it to ``mypy --strict`` against the installed wheel, and runs it there."""

import dsbd
import visualize

pair = dsbd.load_pair()
settings = dsbd.DecodingSettings(max_new_tokens=8, min_width=2, max_width=2)
result = dsbd.decode(pair, "Once upon a time", settings, record=True)
rate: float = result.stats.tokens_per_second
beams = [beam.text.strip() for beam in result.beams]
assert result.trace is not None
tokens: list[str] = [node.text for iteration in result.trace.iterations for node in iteration.nodes]
for update in dsbd.stream(pair, "Once upon a time", settings, record=True):
    assert update.iteration is not None
    assert update.trace is not None
    print(update.iteration.index, [layer.width for layer in update.iteration.layers], update.trace.seed)
dsbd.verify_trace(result.trace)
svg = visualize.forest_svg(result)
print(rate, beams, svg.splitlines()[0])
try:
    visualize.decode_figure(result)
except dsbd.DsbdError as error:
    print(error)
