"""The words that verification decides with. A trace records the same words."""

from typing import Literal

Verdict = Literal["accepted", "rejected", "orphaned", "unneeded"]
"""Of a draft."""
DrawKind = Literal["recovered", "fresh", "bonus"]
"""Where a drawn beam comes from: the residual, the target's law, or the bonus layer."""
Outcome = Literal["passed", "landed", "short", "bonus", "finished"]
"""Of a layer. passed: accepted drafts reached its width; landed: every drawn beam landed, so verification goes on;
short: verification ends here; bonus: the bonus layer; finished: no beam is alive any more."""
