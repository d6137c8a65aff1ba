"""One line of JSON for each run of the models, on standard error: when, who, what, how long, and how it ended.

No line holds a prompt, a text, or the name of a session. Of a session it holds a part of its hash, enough to see which
runs belong together.
"""

import hashlib
import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from gradio.context import LocalContext

from dsbd.errors import DsbdError, StoppedError

LOGGER = logging.getLogger("dsbd.runs")
HASH_DIGITS = 8
DONE, STOPPED, TIME_LIMIT, REFUSED, FAULT = "done", "stopped", "time limit", "refused", "fault"
"""How a run ended. ``stopped``: its visitor left or pressed Stop. ``refused``: a sentence said why. ``fault``: bug."""


def _waited() -> float | None:
    """Seconds that the call of this thread was in the queue; None if it came without the queue."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    event = blocks._queue.event_ids_to_events.get(event_id) if blocks is not None and event_id else None
    return time.monotonic() - event.enqueue_time if event is not None else None


@dataclass
class RunNote:
    """What is known of one run."""

    session: str
    """Of the visitor, as Gradio names it; empty for a call without one."""
    call: str | None = None
    methods: Sequence[str] = ()
    tokens: int | None = None
    outcome: str = REFUSED
    began: float = field(default_factory=time.monotonic)
    waited: float | None = field(default_factory=_waited)

    def watched(self, events: Iterable[Any], deadline: float) -> Iterator[Any]:
        """Pass on the events of the run, and note its tokens and its end; ``deadline``: in ``time.monotonic``."""
        self.outcome = STOPPED  # if the visitor hangs up, this generator may end after the line is written
        try:
            for event in events:
                trace = getattr(event, "trace", None)  # a decode's last step has the whole one
                if trace is not None:
                    self.tokens = len(trace.result.token_ids)
                yield event
        except Exception as error:
            self.outcome = REFUSED if isinstance(error, DsbdError) else FAULT
            if isinstance(error, StoppedError):
                self.outcome = TIME_LIMIT if time.monotonic() >= deadline else STOPPED
            raise
        self.outcome = DONE

    def write(self) -> None:
        """Write the line; the run has just ended."""
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "session": hashlib.sha256(self.session.encode()).hexdigest()[:HASH_DIGITS] if self.session else None,
            "call": self.call,
            "methods": list(self.methods),
            "tokens": self.tokens,
            "seconds": round(time.monotonic() - self.began, 3),
            "waited": None if self.waited is None else round(self.waited, 3),
            "outcome": self.outcome,
        }
        LOGGER.log(logging.INFO if self.outcome in (DONE, STOPPED) else logging.WARNING, json.dumps(line))


def set_up_log(level: str) -> None:
    """Write the lines to standard error. ``level``: info (every run), warning (only refused or failed runs), off."""
    is_off = level == "off"
    LOGGER.handlers = [] if is_off else [logging.StreamHandler(sys.stderr)]
    LOGGER.setLevel(logging.CRITICAL if is_off else level.upper())
    LOGGER.propagate = False
