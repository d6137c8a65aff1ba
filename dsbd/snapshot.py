"""What a decode has reached after an iteration, and whether that is enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsbd.law.beams import Hypothesis, common_prefix
from dsbd.models.pair import Pair
from dsbd.results import DecodedBeam, PlainResult, brief
from dsbd.stopping import cut


@dataclass(frozen=True)
class Snapshot:
    """The state that a decode has reached after an iteration."""

    __repr__ = brief

    pair: Pair
    candidates: Sequence[Hypothesis]
    """Hypotheses that can still be the result, or can still grow into it; best score first."""
    result: PlainResult | None
    """Set in the last snapshot."""

    @property
    def best(self) -> DecodedBeam:
        """Return the hypothesis that is best so far; it may change. In the last snapshot, the returned one."""
        return decoded(self.pair, self.candidates[0]) if self.result is None else self.result.beams[0]

    @property
    def text(self) -> str:
        """Return the text of the hypothesis that is best so far; it may change."""
        return self.best.text

    @property
    def settled_ids(self) -> list[int]:
        """Return the tokens that every possible result begins with; they only grow. In the last snapshot, all."""
        if self.result is not None:
            return self.result.token_ids
        return common_prefix(hypothesis.node for hypothesis in self.candidates).token_ids()

    @property
    def settled_text(self) -> str:
        """Return the beginning that every possible result shares; it only grows."""
        return self.result.text if self.result is not None else self.pair.decode(self.settled_ids).rstrip("\ufffd")


def decoded(pair: Pair, hypothesis: Hypothesis) -> DecodedBeam:
    """Return a hypothesis with its tokens and its text."""
    ids = hypothesis.node.token_ids()
    return DecodedBeam(
        pair.decode(ids), ids, hypothesis.log_weight, hypothesis.score, hypothesis.finished, hypothesis.multiplicity
    )


Enough = Callable[[Snapshot], bool]
"""A function that says after each iteration whether the decode may end there."""


def never_enough(snapshot: Snapshot) -> bool:
    """Return False: the decode goes on to EOS or to its limit."""
    return False


class Until:
    """Ends a decode once it has reached one of some texts, without changing what comes before it.

    The hypothesis that is best now may not be the one returned in the end. So a decode ends only when every hypothesis
    that can still be returned, or can grow into one, has the same text before its end text. Decoding further would not
    change that text, so its law is the law of the whole decode.

    Args:
        ends: the texts, none of them empty.
    """

    def __init__(self, ends: Sequence[str]) -> None:
        self._ends = tuple(ends)

    def __call__(self, snapshot: Snapshot) -> bool:
        """Return True if the text before an end text is settled."""
        settled = None
        for hypothesis in snapshot.candidates:
            whole = snapshot.pair.decode(hypothesis.node.token_ids())
            before = cut(whole, self._ends)
            if (len(before) == len(whole) and not hypothesis.finished) or settled not in (None, before):
                return False
            settled = before
        return True
