"""What a run guesses from besides its text: a text that the visitor expects, or earlier answers of this visit.

The answers are the state of one visit, and no other run sees them: time alone would tell what somebody else had asked.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np

from dsbd.drafts.history import History
from dsbd.errors import SettingsError
from dsbd.methods import needs_draft_model
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace
from visualize.words import Words

from .form import GUESSING

ALIKE = 0.5
"""The share of words from which on a prompt is another one with a few words changed."""


class Answer(NamedTuple):
    """An answer of this visit: the pair, what was typed, and the ids."""

    pair: str
    prompt: str
    ids: Sequence[int]


class Sources(NamedTuple):
    """What a run guesses from, as plain data; at most one of them is there."""

    expected: str = ""
    last: Sequence[int] = ()
    """The answer before, where a few words of its prompt were changed."""
    turns: Sequence[Sequence[int]] = ()
    """Answers to other prompts; only a chat guesses from them."""

    def options(self, pair: Pair) -> dict[str, Any]:
        """Return them as :func:`dsbd.stream` takes them; a history is a new one, so that nothing is left in it."""
        texts = [self.expected, f" {self.expected}"] if self.expected else []  # models differ in how they begin
        if not self.turns or not pair.is_chat:
            return {"guess": [*texts, self.last] if self.last else texts}
        history = History()
        for ids in self.turns:
            history.add(ids)
        return {"history": history}

    def describe(self, trace: Trace) -> dict[str, Any] | None:
        """Return what the page says of a decode that has ended: which ``tokens`` of its text stand in the one that it
        guessed from, by index, and ``words`` on them. None: nothing is said.
        """
        assert trace.result is not None, "it has ended"
        if trace.history:
            return {"words": "Guessed from earlier answers of this visit, too."}
        ids = trace.result.token_ids[: len(trace.result.token_ids) - trace.result.beams[0].finished]
        if not trace.guess or not ids:
            return None
        tokens = max((_in_both(one, ids) for one in trace.guess), key=len)
        counted, anew = Words().counted("tokens", len(ids)), len(ids) - len(tokens)
        some = f"{len(tokens)} of {counted} stand, {anew} {'was' if anew == 1 else 'were'} written anew"
        name = "the text that you expect" if self.expected else "an earlier answer of this visit"
        words = f"Guessed from {name}, too: {some if anew else f'all {counted} stand'}; they are marked."
        return {"tokens": tokens, "words": words}


NOTHING = Sources()


def _in_both(expected: Sequence[int], ids: Sequence[int]) -> list[int]:
    """Return the indices of the ids that stand in the expected ones too, in their order, as many as there can be."""
    others, rows = np.asarray(expected), [np.zeros(len(expected) + 1, np.int32)]  # how many: [of ids][of expected]
    for one in ids:
        longer = np.where(others == one, rows[-1][:-1] + 1, 0)
        rows.append(np.maximum(rows[-1], np.maximum.accumulate(np.append(0, longer))))
    found, size = list[int](), len(expected)
    for at in reversed(range(len(ids))):
        size = int(rows[at + 1].searchsorted(rows[at + 1][size]))
        if rows[at + 1][size] > rows[at][size]:
            found.append(at)
            size -= 1
    return found[::-1]


def sources_of(answers: Sequence[Answer], pair: str, prompt: str, settings: DecodingSettings, expected: str) -> Sources:
    """Return what a run guesses from; ``answers``: the visit's, newest last.

    A prompt again is decoded plainly, so that settings can be compared, and so is one that goes on with the one before.

    Raises: SettingsError: ``auto`` would measure with a text that is expected; its forest then serves everybody.
    """
    if expected and settings.is_auto:
        raise SettingsError("you expect a text, and the forest is auto, which is measured for everybody; take another")
    own = [one for one in answers if one.pair == pair]
    drafts = settings.method in GUESSING and needs_draft_model(settings) and not settings.is_auto
    if expected or not own or not drafts:
        return Sources(expected)
    before = own[-1].prompt
    alike = SequenceMatcher(None, before.split(), prompt.split(), autojunk=False).quick_ratio()
    if alike >= ALIKE and not prompt.startswith(before):
        return Sources("", own[-1].ids)
    return Sources("", (), [one.ids for one in own if one.prompt != prompt])
