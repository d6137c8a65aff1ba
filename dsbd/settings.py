"""The settings of a decode, checked once when they are made."""

import sys
from dataclasses import dataclass, fields
from itertools import accumulate
from operator import mul
from types import EllipsisType
from typing import Any, Literal

from dsbd.errors import SettingsError

METHODS = (
    "dsbd",
    "beam_sampling",
    "beam_search",
    "speculative_beam_search",
    "specinfer",
    "speculative",
    "sampling",
    "greedy",
    "mjsd",
    "mjgd",
)
FORESTS = ("sampled", "likely")
AUTO: Literal["auto"] = "auto"
AUTO_FIELDS = ("draft_depth", "draft_width", "cover_width", "forest")
"""Fields that accept ``auto``: their values are found by measuring on this pair and device before decoding starts."""
WIDEST = 64
"""Beams that a layer yields at most."""
MOST_CHILDREN, MOST_BRANCHINGS, MOST_BRANCHED = 16, 8, 256
"""Of ``branching``: its largest entry, its most entries, and the most nodes of its tree."""


def branching_of(text: str) -> tuple[int, ...]:
    """Read ``branching`` as it is typed: ``4,2,2`` or, where a comma separates values, ``4x2x2``.

    Raises:
        SettingsError: the text is not a list of whole numbers.
    """
    try:
        return tuple(int(count) for count in text.replace("x", ",").split(","))
    except ValueError:
        raise SettingsError(f"branching is {text[:60]!r}; name children per layer, such as 4,2,2") from None


FOLLOWS_FROM_METHOD = "lossless"
"""A field of resolved settings; users do not choose it."""


@dataclass(frozen=True)
class DecodingSettings:
    """Settings of every method; a table in docs/methods.md says which fields each method reads.

    Symbols of the paper: gamma = ``draft_depth``, W_S = ``draft_width``, W_min = ``min_width``,
    t = ``width_threshold``.

    Raises:
        SettingsError: a value is outside its range; the message names the range.
    """

    method: str = "dsbd"
    """One of :data:`METHODS`."""
    max_new_tokens: int = 64
    """The limit of generated tokens, EOS included, never exceeded. 1 to 32,768."""
    draft_depth: int | Literal["auto"] = 4
    """Layers drafted per iteration. 0 (no drafting) to 32, or ``auto``."""
    draft_width: int | Literal["auto"] = 6
    """Nodes per layer: drafts of a sampled forest, the likeliest pairs of a likely one. 1 to 256,
    or ``auto``."""
    min_width: int = 1
    """The least number of beams that a layer yields. 1 to 64."""
    max_width: int | None = None
    """The most beams that a layer yields, and the beams of a bonus layer; None = the larger of min_width and
    draft_width, or of min_width and num_beams if the forest is likely or ``auto``, or draft_width is ``auto``; 64 at
    most. 1 to 64."""
    width_threshold: float = 0.7
    """The width is the largest K for which P(at least K drafts are accepted) reaches this; in a likely forest,
    P(K draws all land). 0 to 1."""
    replacement: bool = True
    """True: beams are drawn independently and may repeat. False: no two beams are equal."""
    input_beams: int | None = None
    """Keep only this many beams, the best by log-weight, between iterations; None = all."""
    landing: bool = True
    """Go on verifying when every drawn beam is itself a node of the forest (exact; beyond the paper)."""
    cover_width: int | Literal["auto"] = 0
    """Likely pairs per layer that are scored too, so that draws can land on them. 0 (the paper) to 256, or ``auto``."""
    forest: str = "sampled"
    """``sampled``: drafts are drawn and then accepted or rejected (the paper); ``likely``: the nodes are the likeliest
    pairs, the target draws, and verification goes on while every draw lands (exact; beyond the paper). Or ``auto``."""
    num_beams: int = 4
    """Width of the beam methods. 1 to 64."""
    branching: tuple[int, ...] | None = (4, 2, 2)
    """Of ``specinfer``: how many children every node of each layer gets, drawn from its own draft law. 1 to 8 entries
    of 1 to 16, at most 256 nodes in all: (4, 2, 2) has 4 + 8 + 16 = 28. None: no forest is drawn per parent."""
    temperature: float = 1.0
    """Divides the joint scores; 0 is greedy. 0 to 100."""
    top_k: int = 50
    """Keep this many likeliest pairs of the joint law; 0 = all."""
    top_p: float = 1.0
    """Keep the likeliest pairs of the joint law up to this mass; 1 = all. Above 0, at most 1."""
    length_penalty: float = 1.0
    """Hypotheses rank by log_weight / length**length_penalty. -10 to 10."""
    seed: int = 0
    """Seed of the one generator all randomness comes from. 0 to 2**63 - 1."""
    depth_costs: tuple[float, ...] | None = None
    """Relative cost of an iteration of draft depth 0, 1, ... draft_depth. If given, the depth of each iteration is the
    one with the most expected layers per cost, judged by the iterations before; depth 0 is plain beam sampling. None:
    always draft_depth. ``draft_depth="auto"`` fills it in."""
    continuation: float = 0.7
    """With depth_costs: how often a draft layer is expected to let verification go on, at the start. 0 to 1."""
    joint_threshold: float = 0.5
    """``mjsd`` accepts the longest beginning of the draft's best beam whose tokens, taken together, the target finds at
    least this many times as likely as the draft model. Above 1 nothing is accepted. 0 to 1e+300."""
    block: int = 2
    """``mjgd`` decides this many tokens at once. 1 to 3."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"method is {self.method!r}; choose one of {', '.join(METHODS)}")
        if self.forest not in (*FORESTS, AUTO):
            raise SettingsError(f"forest is {self.forest!r}; choose one of {', '.join((*FORESTS, AUTO))}")
        self._integer("max_new_tokens", 1, 32768)
        self._integer("draft_depth", 0, 32, also=AUTO)
        self._integer("draft_width", 1, 256, also=AUTO)
        self._integer("min_width", 1, WIDEST)
        self._integer("max_width", 1, WIDEST, also=None)
        self._integer("input_beams", 1, WIDEST, also=None)
        self._integer("cover_width", 0, 256, also=AUTO)
        self._integer("num_beams", 1, WIDEST)
        self._integer("top_k", 0, 1_000_000)
        self._integer("seed", 0, 2**63 - 1)
        self._number("width_threshold", 0.0, 1.0)
        self._number("continuation", 0.0, 1.0)
        self._number("temperature", 0.0, 100.0)
        self._number("top_p", 0.0, 1.0, above=True)
        self._number("length_penalty", -10.0, 10.0)
        self._number("joint_threshold", 0.0, 1e300)
        self._integer("block", 1, 3)
        self._boolean("replacement")
        self._boolean("landing")
        self._costs()
        self._branching()
        for method, name in (("mjsd", "draft_depth"), ("mjsd", "draft_width")):
            if self.method == method and getattr(self, name) == AUTO:
                raise SettingsError(f"{name} is 'auto'; {method} takes whole numbers")
        if self.max_width is not None and self.max_width < self.min_width:
            raise SettingsError(
                f"max_width is {self.max_width}, below min_width {self.min_width}; raise max_width or lower min_width"
            )

    @property
    def widest(self) -> int:
        """The value that ``max_width`` resolves to: its own, or its default if it is None."""
        if self.max_width is not None:
            return self.max_width
        beams = self.num_beams if self.draft_width == AUTO or self.forest != "sampled" else self.draft_width
        return min(max(beams, self.min_width), WIDEST)

    @property
    def is_auto(self) -> bool:
        """True if a field is still to be found by measuring."""
        return any(getattr(self, name) == AUTO for name in AUTO_FIELDS)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DecodingSettings":
        """Make settings from plain data, resolved or not. Raises: SettingsError: an unknown field or a bad value."""
        if not isinstance(values, dict):
            raise SettingsError(f"settings are a {type(values).__name__}; give a dictionary of names and values")
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in values.items() if name in known or name != FOLLOWS_FROM_METHOD}
        for name in values:
            if name not in known:
                raise SettingsError(f"unknown setting {name!r}; known are {', '.join(sorted(known))}")
        return cls(**values)

    def _integer(self, name: str, low: int, high: int, also: str | EllipsisType | None = ...) -> None:
        value = getattr(self, name)
        if value == also:
            return
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            other = "" if also is ... else f" or {also}"
            raise SettingsError(f"{name} is {value!r}; allowed are whole numbers from {low} to {high}{other}")

    def _number(self, name: str, low: float, high: float, above: bool = False) -> None:
        value = getattr(self, name)
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not real or not low <= value <= high or (above and value == low):
            start = f"above {low:g}, at most" if above else f"from {low:g} to"
            raise SettingsError(f"{name} is {value!r}; allowed are numbers {start} {high:g}")

    def _boolean(self, name: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, bool):
            raise SettingsError(f"{name} is {value!r}; allowed are True and False")

    def _costs(self) -> None:
        costs = self.depth_costs
        if costs is None:
            return
        usable = _are_numbers(costs) and all(cost > 0 for cost in costs)
        if not usable or self.draft_depth == AUTO or len(costs) != self.draft_depth + 1:
            raise SettingsError(
                f"depth_costs is {costs!r}; allowed are None, or draft_depth + 1 numbers above 0, draft_depth given"
            )
        object.__setattr__(self, "depth_costs", tuple(float(cost) for cost in costs))

    def _branching(self) -> None:
        value = self.branching
        if value is None:
            if self.method == "specinfer":
                raise SettingsError("branching is None; specinfer needs it: name children per layer, such as 4,2,2")
            return
        usable = isinstance(value, (tuple, list)) and all(
            isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST_CHILDREN for count in value
        )
        if not usable or not 1 <= len(value) <= MOST_BRANCHINGS or sum(accumulate(value, mul)) > MOST_BRANCHED:
            raise SettingsError(
                f"branching is {value!r}; allowed are 1 to {MOST_BRANCHINGS} whole numbers from 1 to {MOST_CHILDREN}, "
                f"at most {MOST_BRANCHED} nodes in all"
            )
        object.__setattr__(self, "branching", tuple(value))


def _are_numbers(values: Any) -> bool:
    """True for a list or tuple of finite numbers from 0."""
    return isinstance(values, (tuple, list)) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max
        for value in values
    )


@dataclass(frozen=True)
class ResolvedSettings(DecodingSettings):
    """Settings as the decoder runs them: nothing is ``auto``, and fields that the method does not read are filled in.

    Decoding with them again replays the run exactly.
    """

    draft_depth: int = 4
    draft_width: int = 6
    max_width: int = 6
    cover_width: int = 0
    lossless: bool = True
    """False for the joint test of ``mjsd`` and ``mjgd``: their text does not follow the target's law."""
    branching: tuple[int, ...] | None = None

    @property
    def searches_blocks(self) -> bool:
        """True where the target itself searches the best block, and no token follows it."""
        return self.method == "mjgd"

    @property
    def layer_slots(self) -> tuple[int, ...]:
        """Slots for drafts in each layer: draft_width, or per parent as many as branching says."""
        if self.branching is None:
            return (self.draft_width,) * self.draft_depth
        return tuple(accumulate(self.branching, mul))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_auto:
            raise SettingsError("a field is auto; dsbd.decode and dsbd.stream resolve it")

    @property
    def has_bonus_layer(self) -> bool:
        """True where a layer can be drawn below the forest, so that the forest leaves room for one more token."""
        return not self.searches_blocks
