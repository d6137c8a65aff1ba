"""What a run guesses from besides its text: the text that a visitor expects, and the visitor's own earlier answers.

The answers are the state of one visit, and nobody else's run sees them: time alone would tell what others had asked.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from dsbd.drafts.history import History
from dsbd.methods import needs_draft_model
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace

MOST = 8
"""Answers of a visit that are kept."""
ALIKE = 0.5
"""The share of words from which on a prompt is the one before with a few words changed."""
TEXT, LAST, EARLIER = "the text that you expect", "your last answer", "your earlier answers"


class Answer(NamedTuple):
    """An answer of this visit."""

    pair: str
    prompt: str
    """What was typed."""
    text: str
    ids: Sequence[int]


class Sources(NamedTuple):
    """What a run guesses from, as plain data."""

    expected: str = ""
    last: Sequence[int] = ()
    """The answer to a prompt of which a few words were changed."""
    turns: Sequence[Sequence[int]] = ()
    """Answers to other prompts: a chat guesses from them."""

    def options(self, pair: Pair) -> dict[str, Any]:
        """Return them as :func:`dsbd.stream` takes them; the history is a new one, so that nothing is left in it."""
        options: dict[str, Any] = {"guess": [one for one in (self.expected, list(self.last)) if one]}
        if self.turns and pair.is_chat:
            options["history"] = history = History()
            for ids in self.turns:
                history.add(ids)
        return options

    def words(self, opening: Trace) -> str:
        """Return what the claim says of them, from a trace that has begun; empty if there is none."""
        named = {TEXT: self.expected, LAST: self.last, EARLIER: opening.history}
        words = " and ".join(name for name, value in named.items() if value)
        return f"Guessed from {words}, too{': marked is what stands' if opening.guess else ''}." if words else ""


NOTHING = Sources()


def sources_of(answers: Sequence[Answer], pair: str, prompt: str, settings: DecodingSettings, expected: str) -> Sources:
    """Return what a run guesses from; ``answers``: the visit's, newest last, as far as the run may guess from them.

    The same prompt again is decoded plainly, so that settings can be compared; so is what continues an answer, and what
    measures (``auto``), compares the models' probabilities (``mjsd``) or guesses nothing.
    """
    own = [one for one in answers if one.pair == pair]
    guesses = needs_draft_model(settings) and settings.method != "mjsd" and not settings.is_auto
    if not own or not guesses or own[-1].prompt == prompt:
        return Sources(expected)
    last = own[-1]
    if not prompt.startswith((last.prompt + last.text).rstrip()) and _are_alike(last.prompt, prompt):
        return Sources(expected, last.ids)
    return Sources(expected, (), [one.ids for one in own if one.prompt != prompt])


def _are_alike(before: str, prompt: str) -> bool:
    return SequenceMatcher(None, before.split(), prompt.split(), autojunk=False).quick_ratio() >= ALIKE


def with_answer(answers: Sequence[Answer], pair: str, prompt: str, trace: Trace) -> tuple[Answer, ...]:
    """Return the answers of a visit with a new one, the oldest left out if there are too many."""
    assert trace.result is not None, "an answer is whole"
    return (*answers, Answer(pair, prompt, trace.result.text, trace.result.token_ids))[-MOST:]
