"""The records of a whole decode as one tree, with the tokens that each of its iterations won."""

from dataclasses import dataclass

from dsbd.results import brief


@dataclass(frozen=True)
class TreeNode:
    """One token that was ever guessed or drawn."""

    id: int
    parent: int
    """Its id; 0 is the end of the prompt."""
    position: int
    """Place of its token in the text, from 1."""
    row: int
    """0 on the line of the text, otherwise how far below it."""
    state: str
    """After the last step of the last iteration that names it."""
    iteration: int
    """Recorded index of that iteration."""
    label: str
    """Visible text, shortened for a drawing."""


@dataclass(frozen=True)
class Band:
    """The positions that one iteration won: one pass of the large model."""

    iteration: int
    """Its recorded index."""
    first: int
    """Position of the first token it won, from 1."""
    last: int
    """Position of the last one; ``first - 1`` if it won no token."""

    @property
    def won(self) -> int:
        """How many tokens it won."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class WholeScene:
    """A decode, or the part of it there is so far, as one tree."""

    __repr__ = brief

    nodes: tuple[TreeNode, ...]
    """Every node of the trace once, parents first, without the cover nodes that no beam landed on."""
    bands: tuple[Band, ...]
    tokens: int
    """Tokens of the returned text, or of the best beam so far: the nodes of row 0."""
    last_position: int
    """The largest position of a node or a band."""
    last_row: int
