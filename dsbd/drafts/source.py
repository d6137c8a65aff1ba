"""The protocol of a draft source: where the guesses of a decode come from in place of a draft model."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dsbd.errors import ModelError
from dsbd.verification.beams import Node
from dsbd.verification.distributions import TopTokens


@dataclass(frozen=True)
class DraftRecord:
    """What a trace says of a draft source."""

    id: str
    """Its name."""
    copies: bool = False
    """Whether its guesses are copied from the prompt and the text so far."""


@runtime_checkable
class DraftSource(Protocol):
    """Says which tokens are likely to come next. ``load_pair(target, draft=source)`` decodes with it.

    An iteration asks :meth:`begin` for the tokens after its input beams, and the forest's first layer is drawn from the
    answer. It asks :meth:`extend` for the tokens after the drafts of that layer, and so on, layer by layer. Nodes with
    the same content are one object; ``node.token_ids()`` are the tokens from the prompt to a node, ``node.parent`` is
    the node before it, and of the prompt's last token ``node.parent`` is None.

    The text follows the target's distribution whatever the answers are: good ones only make it faster. They must be
    functions of what is given, and not of chance. With no answer for any node the iteration drafts nothing. A source
    sees tokens only: neither the hidden states nor the logits of the target are given to it.

    Each decode works with a shallow copy of the source (``copy.copy``): what the methods set on ``self`` is the
    decode's own, and tables made before are shared. docs/models.md has an example.
    """

    @property
    def record(self) -> DraftRecord:
        """What a trace says of the source."""

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        """Begin an iteration; return the next tokens after each input beam.

        Args:
            prompt: ids [n] that the target is fed, n at least 1; the same in all iterations of a decode.
            beams: nodes [b], b at least 1, distinct and of equal length; in the first iteration the end of the prompt.
            depth: the most layers that are drafted, at least 1; ``extend`` is called at most ``depth - 1`` times.

        Returns:
            [b], each of ids [k] ascending, below the target's vocabulary, and finite log-probabilities [k], nats.
            :func:`top_tokens` makes one of a dictionary. k may be 0, where there is no guess, and differ from node to
            node; the probabilities may leave a part of 1 unused.
        """

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each draft of the last layer.

        Beside ``guess`` or ``history`` not every iteration, and not every layer, is asked for: then the nodes of the
        layers between come along.

        Args:
            nodes: [m], m at least 1, distinct, children of nodes that were given before or earlier in the list, by
                layer; none ends a beam.

        Returns:
            [m], as of :meth:`begin`.
        """


def top_tokens(probs: Mapping[int, float]) -> TopTokens:
    """Return next tokens by their ids, which may come in any order; all probabilities are above 0.

    >>> top_tokens({7: 0.25, 3: 0.5}).tokens.tolist()
    [3, 7]
    """
    tokens = sorted(probs)
    return TopTokens(np.array(tokens, dtype=np.int64), np.log([probs[token] for token in tokens]))


class CheckedSource:
    """A source of somebody else, whose answers are checked before tokens are drawn from them."""

    def __init__(self, source: DraftSource, vocabulary_size: int) -> None:
        self._source, self._vocabulary_size = source, vocabulary_size

    def __copy__(self) -> "CheckedSource":
        return CheckedSource(copy(self._source), self._vocabulary_size)

    @property
    def record(self) -> DraftRecord:
        return self._source.record

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        return self._checked(self._source.begin(prompt, beams, depth), len(beams))

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return self._checked(self._source.extend(nodes), len(nodes))

    def _checked(self, answers: list[TopTokens], count: int) -> list[TopTokens]:
        name = f"the draft source {self.record.id}"
        if len(answers) != count:
            raise ModelError(f"{name} answered for {len(answers)} nodes of {count}; it must answer for each")
        for tokens, log_probs in answers:
            bounded = np.concatenate([[-1], tokens, [self._vocabulary_size]])
            if tokens.shape != log_probs.shape or (np.diff(bounded) <= 0).any() or not np.isfinite(log_probs).all():
                raise ModelError(
                    f"{name} returned ids {tokens.tolist()[:8]} with log-probabilities {log_probs.tolist()[:8]}; give "
                    f"ascending ids below {self._vocabulary_size}, each with a finite number (dsbd.top_tokens does)"
                )
        return answers
