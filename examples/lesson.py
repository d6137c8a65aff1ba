"""Record a decode and make a lesson of it: one card that shows, one card that asks.

python -m examples.lesson
"""

from pathlib import Path

import dsbd
import visualize

LESSON = """---
title: Will it be accepted?
trace: fox.json.gz
---
## The draft model guesses {iteration=1 layer=1}
These are guesses. The target has not seen them.
## What does the target do? {iteration=1 phase=score}
- [ ] One forward for every guess
- [x] One forward for all of them
> The whole forest is scored in one forward.
"""

dsbd.decode(dsbd.load_pair(), "The fox", dsbd.DecodingSettings(max_new_tokens=8), record=True).trace.save("fox.json.gz")
Path("fox.md").write_text(LESSON, encoding="utf-8")
visualize.export_lesson("fox.md", "fox.html")
print("Open fox.html in a browser.")
