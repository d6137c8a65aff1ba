"""A decode as the Play tab shows it: what each step changes, and the messages to its script."""

import json
import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import gradio as gr

from dsbd.errors import StoppedError
from dsbd.methods import needs_draft_model
from dsbd.tracing.trace import Trace
from visualize.pages.document import packed_json
from visualize.words import Words

from . import form
from .comparison import describe
from .earlier import NOTHING, Answer, Sources, sources_of
from .limits import check_prompt
from .parts import alert, sentence
from .race_markup import rows_markup, rows_of, task_of
from .runner import TARGETS, Runner, RunUpdate

COPIED = "Guesses are copied from the text: there is no small model. "
CALM_SECONDS = 0.3
"""A decode that takes no longer is shown once it has ended: what stands there does not flicker."""
FRAME_SECONDS = 0.12
"""Shortest time between two updates of a browser, however fast the model is."""
IS_LENT = bool(os.environ.get("SPACES_ZERO_GPU"))
"""Whether the page runs on ZeroGPU, which lends a GPU to runs only, and of which a visitor's share is small."""
ROWS_BESIDE = 3
"""Rows of a result for which there is room beside the answer; a line that says how many more there are takes one."""
MOST_ANSWERS = 8
"""Of a visit that are kept, to guess from."""
READY = (gr.update(visible=True), gr.update(visible=False))
"""The buttons Run and Stop."""
Frame = dict[Any, Any]
"""New values, by component or the name of a part of the tab; all others stay as they are."""
ENDED: Frame = {"run": READY[0], "stop": READY[1]}
counted = Words().counted
_NUMBERS = count(1)


def message(kind: str, **content: Any) -> str:
    """Return what ``play.js`` draws: JSON with a number, which makes every message new, its bulk packed."""
    packed = packed_json(content.pop("bulk", None))
    return json.dumps({"number": next(_NUMBERS), "kind": kind, **content, "packed": packed}, separators=(",", ":"))


def decode_frames(
    runner: Runner, session: str, pair: Any, prompt: Any, method: Any, values: Any,
    expected: Any = "", answers: Sequence[Answer] = (),
) -> Generator[Frame, None, None]:  # fmt: skip
    """Yield what changes in the tab, by its part: every few iterations, and at the end of the run.

    ``expected`` is a text that the visitor expects, ``answers`` are those of this visit: see :mod:`.earlier`.
    """
    run = ShownRun(runner, answers)
    try:
        settings = form.settings_of(method, values, runner.limits)
        run.pair, typed = runner.pairs.check(pair), check_prompt(runner.limits, prompt)
        run.typed, run.remark = typed, form.remark_on(run.pair, typed)
        text = form.as_prompt(run.pair, typed)
        is_asked = str(expected).strip() and method in form.GUESSING  # else the box is empty, or hidden
        guess = check_prompt(runner.limits, expected, "the text that you expect") if is_asked else ""
        run.sources = sources_of(answers, run.pair, typed, settings, guess)
        with closing(runner.decode(session, run.pair, text, settings, not IS_LENT, run.sources)) as steps:
            for step in steps:
                yield from run.frames(step)
        yield {"note": f"{run.note} Step through it below."} | ENDED
    except StoppedError as error:
        note = f"{error} What was recorded stays: {counted('passes', run.passes)}."
        yield {"stage": message("stopped"), "note": note} | ENDED
    except Exception as error:
        yield {"stage": message("stopped"), "note": "", "problem": alert(sentence(error))} | ENDED


@dataclass
class ShownRun:
    """A run as far as the browser knows it."""

    runner: Runner
    answers: Sequence[Answer] = ()
    """Of this visit, before the run."""
    sources: Sources = NOTHING
    pair: str = ""
    typed: str = ""
    remark: str = ""
    """Begins every note."""
    note: str = ""
    trace: Any = None
    """Without iterations until the decode has ended."""
    passes: int = 0
    sent_at: float = 0.0
    unsent: list[dict[str, Any]] = field(default_factory=list)
    """Records of iterations that the browser lacks."""

    def frames(self, step: RunUpdate) -> Iterator[Frame]:
        """Yield what a step changes."""
        if step.beside is not None:
            rows = [rows_in(self.trace, text) for text in (self.trace.result.text, step.beside.text)]
            yield {"stage": message("beside", **describe(self.trace, step.beside, rows))}
        elif step.opening is not None:
            yield self._begun(step.opening)
        elif step.iteration is None:
            yield {"note": step.doing}
        else:
            self.passes += 1
            self.unsent.append(step.iteration.to_dict())
            if step.trace is not None:
                yield self._ended(step, step.trace)
            elif time.monotonic() - self.sent_at >= FRAME_SECONDS:
                self.sent_at = time.monotonic()
                yield {"stage": self._more(step), "note": f"{self.remark}Decoding, pass {self.passes} …"}
                self.unsent = []

    def _begun(self, opening: Trace) -> Frame:
        pair = self.runner.pairs.get(self.pair)
        self.remark += "Sent as a chat. " if pair.is_chat else ""
        self.remark += COPIED if needs_draft_model(opening.settings) and pair.copies else ""
        self.trace, self.sent_at = opening, time.monotonic() + CALM_SECONDS
        return {"stage": message("begin", bulk=opening.to_dict()), "last": None}

    def _ended(self, step: RunUpdate, trace: Trace) -> Frame:
        assert trace.result is not None, "it comes with the last iteration"
        self.trace, self.note = trace, f"{self.remark}Decoded just now."
        whole = replace(trace, iterations=[]).to_dict()
        answers = (*self.answers, Answer(self.pair, self.typed, trace.result.token_ids))[-MOST_ANSWERS:]
        more = self._more(step, whole, rows=drawn_rows(trace), guessed=self.sources.describe(trace))
        return {"stage": more, "note": self.note, "last": trace, "answers": answers}

    def _more(self, step: RunUpdate, whole: Any = None, **known: Any) -> str:
        """Return new iterations, and once the decode has ended the ``whole`` trace without them, and what is known."""
        return message("more", settled=step.settled, **known, bulk={"iterations": self.unsent, "trace": whole})


def rows_in(trace: Trace, text: str | None) -> list[Any] | str | None:
    """Return the rows of a text as a query, or why it has none; None if the decode writes no queries.

    A prompt may hold the beginning of the query, which the text goes on with.
    """
    begun = trace.prompt.text.rpartition(form.QUESTION.rpartition("}")[2])[2]
    return rows_of(task_of(form.SQL), begun + (text or "")) if trace.models.target.id == TARGETS[form.SQL] else None


def drawn_rows(trace: Trace) -> str:
    """Return the rows of a decode's query as markup, as many as there is room for; empty if it writes no queries."""
    if trace.result is None:
        return ""
    rows = rows_in(trace, trace.result.text)
    fits = isinstance(rows, list) and len(rows) - 1 <= ROWS_BESIDE
    return rows_markup(rows, ROWS_BESIDE if fits else ROWS_BESIDE - 1)
