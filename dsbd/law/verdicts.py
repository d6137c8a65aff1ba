"""The words that verification decides with. A trace records the same words."""

from typing import Literal

Verdict = Literal["accepted", "rejected", "orphaned", "unneeded", "carried"]
"""Of a draft. carried: in a joint test it fails, but a longer beginning of the beam passes and takes it along."""
TAKEN: tuple[Verdict, ...] = ("accepted", "carried")
"""Verdicts of the drafts that a layer yields."""
DrawKind = Literal["recovered", "fresh", "bonus"]
"""The source of a drawn beam: the residual, the target's law, or the bonus layer."""
Outcome = Literal["passed", "landed", "short", "bonus", "finished", "block"]
"""Of a layer. passed: accepted drafts reached its width; landed: every drawn beam landed, so verification goes on;
short: verification ends here; bonus: the bonus layer; finished: no beam is alive any more;
block: the last layer of a block that the target searched itself, after which no token is drawn."""
