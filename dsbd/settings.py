"""The settings of a decode, checked once when they are made.

Each field carries its range, label, help and the methods that read it; :data:`FIELDS` has them by name. The check of
values, the flags of the command line, the page's form, the table in docs/api/settings.md and the settings of the
decoder in the browser are all made from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import accumulate
from operator import mul
from secrets import randbelow
from typing import Any, Literal

from dsbd.errors import SettingsError
from dsbd.other_names import OTHER_NAMES

METHODS = (
    "dsbd", "beam_sampling", "beam_search", "speculative_beam_search", "specinfer", "speculative", "sampling", "greedy",
    "mjsd", "mjgd",
)  # fmt: skip
FORESTS = ("sampled", "coupled")
AUTO: Literal["auto"] = "auto"
WIDEST = 64
"""Beams that a layer yields at most."""
BEAMS = 4
"""Beams where nothing says how many."""
MOST_CHILDREN, MOST_BRANCHINGS, MOST_BRANCHED = 16, 8, 256
"""Of ``branching``: its largest entry, its most entries, and the most nodes of its tree."""


@dataclass(frozen=True)
class Field:
    """What is known of one setting."""

    label: str
    help: str
    methods: tuple[str, ...]
    """The methods that read it."""
    kind: Literal["choice", "whole", "number", "switch", "wholes", "numbers"]
    low: float = 0
    high: float = 0
    above: bool = False
    """True: ``low`` itself is not allowed."""
    also: tuple[str | None, ...] = ()
    """Values besides the range: None, or ``auto``, which is found by measuring before decoding starts."""
    choices: tuple[str, ...] = ()
    name: str = ""
    default: Any = None

    @property
    def allowed(self) -> str:
        """Return the values that it takes, in words."""
        match self.kind:
            case "choice":
                return ", ".join(map(str, (*self.choices, *self.also)))
            case "switch":
                return ", ".join(map(str, (True, False, *self.also)))
            case "wholes":
                return f"1 to {MOST_BRANCHINGS} whole numbers from 1 to {MOST_CHILDREN}, at most {MOST_BRANCHED} nodes"
            case "numbers":
                return "None, or draft_depth + 1 numbers above 0, draft_depth given"
            case "whole":
                span = f"whole numbers from {self.low} to {self.high}"
            case _ if self.above:
                span = f"numbers above {self.low:g}, at most {self.high:g}"
            case _:
                span = f"numbers from {self.low:g} to {self.high:g}"
        return " or ".join([span, *map(str, self.also)])

    def check(self, value: Any) -> Any:
        """Return a value, of NumPy and torch too, as plain Python. Raises: SettingsError: it is out of range."""
        plain = value.tolist() if hasattr(value, "tolist") else value
        if plain in self.also:
            return plain
        if self.kind in ("wholes", "numbers"):
            usable = isinstance(plain, (tuple, list)) and all(map(self._takes, plain))
            plain = tuple(plain) if usable else plain
        else:
            usable = plain in self.choices if self.kind == "choice" else self._takes(plain)
        if not usable:
            raise SettingsError(f"{self.name} is {value!r}; allowed are {self.allowed}")
        return plain

    def _takes(self, value: Any) -> bool:
        """Return True for a switch, or a number in the range."""
        if self.kind == "switch" or isinstance(value, bool):
            return self.kind == "switch" and isinstance(value, bool)
        known = int if self.kind in ("whole", "wholes") else (int, float)
        return isinstance(value, known) and self.low <= value <= self.high and not (self.above and value == self.low)


_DSBD = ("dsbd",)
_DRAFTING = ("dsbd", "speculative_beam_search", "speculative")
_LAYERED = ("dsbd", "speculative_beam_search", "mjsd")
_WIDE = ("beam_sampling", "beam_search", "speculative_beam_search")
_SAMPLING = ("dsbd", "beam_sampling", "specinfer", "speculative", "sampling", "mjsd")
_CUTTING = ("dsbd", *_WIDE, "specinfer", "speculative", "sampling", "mjsd")


def _field(default: Any, kind: Any, methods: tuple[str, ...], label: str, help: str, *span: Any, **more: Any) -> Any:
    """Return a field of the settings; ``span`` is its lowest value, its highest, and values besides."""
    low, high, *also = span or (0, 0)
    about = Field(label, help, methods, kind, low, high, also=tuple(also), **more)
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class DecodingSettings:
    """Settings of every method. A field that the method does not read keeps its default, or the value that it implies.

    Symbols of the paper: gamma = ``draft_depth``, W_S = ``draft_width``, W_min = ``min_width``,
    t = ``width_threshold``. ``forest`` chooses how guesses are made and verified: ``sampled`` is the paper's way, with
    acceptance tests; with ``coupled`` the target draws with the noise that the draft model guessed with, and nothing is
    tested. ``cover_width`` is a number of extra candidates: nodes that are scored because they may be drawn, but that
    are no drafts and get no children. ``draft_depth="auto"`` fills in ``depth_costs`` and ``continuation``. With None a
    ``seed`` is drawn, and ``top_k`` is 0.

    Raises:
        SettingsError: a name is unknown, or a value is outside its range, or not read; the message names the closest
            name, the range, or who reads it.
    """

    method: str = _field("dsbd", "choice", METHODS, "Method", "how to decode", choices=METHODS)
    max_new_tokens: int = _field(
        64, "whole", METHODS, "New tokens", "most tokens to write, the end-of-text token included", 1, 32768
    )
    draft_depth: int | Literal["auto"] = _field(
        4, "whole", (*_DRAFTING, "mjsd"), "Draft depth", "layers per iteration: tokens guessed ahead", 0, 32, AUTO
    )
    draft_width: int | Literal["auto"] = _field(
        6, "whole", _LAYERED, "Draft width", "guesses in each layer of the forest", 1, 256, AUTO
    )
    min_width: int = _field(1, "whole", _DSBD, "Least width", "fewest beams that a layer yields", 1, WIDEST)
    max_width: int | None = _field(
        None, "whole", _DSBD, "Most width",
        f"most beams that a layer yields; None: draft_width, or {BEAMS} if that is auto or forest is coupled", 1,
        WIDEST, None,
    )  # fmt: skip
    width_threshold: float = _field(
        0.7, "number", _DSBD, "Width threshold",
        "a layer yields as many beams as drafts are accepted with this probability", 0.0, 1.0,
    )  # fmt: skip
    replacement: bool = _field(
        True, "switch", ("dsbd", "beam_sampling", "specinfer"), "With replacement", "a beam may be drawn more than once"
    )
    input_beams: int | None = _field(
        None, "whole", _DSBD, "Input beams", "best beams kept between iterations; None keeps all", 1, WIDEST, None
    )
    landing: bool = _field(
        True, "switch", _DSBD, "Go on below draws",
        "verify the next layer, too, if every drawn beam is in the forest (exact; not in the paper)",
    )  # fmt: skip
    cover_width: int | Literal["auto"] = _field(
        0, "whole", _DSBD, "Extra candidates", "per layer: likely to be drawn, scored beside the drafts, no children",
        0, 256, AUTO,
    )  # fmt: skip
    forest: str | None = _field(
        None, "choice", _DSBD, "Verification",
        "sampled: drafts pass acceptance tests; coupled: draft model and target draw with the same noise; None: "
        "coupled at a fixed width with replacement", 0, 0, None, choices=FORESTS,
    )  # fmt: skip
    num_beams: int = _field(BEAMS, "whole", _WIDE, "Beams", "width of the beam methods", 1, WIDEST)
    branching: tuple[int, ...] | None = _field(
        (4, 2, 2), "wholes", ("specinfer",), "Branching", "children of a node, layer by layer", 1, MOST_CHILDREN, None
    )
    temperature: float = _field(
        1.0, "number", _SAMPLING, "Temperature", "higher is more random, 0 takes the likeliest", 0.0, 100.0
    )
    top_k: int = _field(50, "whole", _CUTTING, "Top-k", "likeliest candidates kept; 0 keeps all", 0, 1_000_000)
    top_p: float = _field(
        1.0, "number", _SAMPLING, "Top-p", "likeliest candidates kept, up to this probability; 1 keeps all", 0.0, 1.0,
        above=True,
    )  # fmt: skip
    length_penalty: float = _field(
        1.0, "number", METHODS, "Length penalty", "rank texts by log_weight / length**penalty; above 0: long ones",
        -10.0, 10.0,
    )  # fmt: skip
    early_stopping: bool | str | None = _field(
        False, "switch", ("dsbd", *_WIDE), "Early stopping",
        "once as many beams as the width have finished, end: True at once, False if no other beam scores better, never "
        "if none can; None goes on to the limit", 0, 0, "never", None,
    )  # fmt: skip
    seed: int = _field(0, "whole", METHODS, "Seed", "the same seed gives the same text", 0, 2**63 - 1)
    depth_costs: tuple[float, ...] | None = _field(
        None, "numbers", _DRAFTING, "Depth costs", "what an iteration costs at each depth: it drafts as deep as pays",
        0, 1e300, None, above=True,
    )  # fmt: skip
    continuation: float = _field(
        0.7, "number", _DRAFTING, "Continuation", "with depth_costs: first guess of how often a draft layer passes",
        0.0, 1.0,
    )  # fmt: skip
    joint_threshold: float = _field(
        0.5, "number", ("mjsd",), "Joint threshold", "accept tokens that are so many times as likely to the target",
        0.0, 1e300,
    )  # fmt: skip
    block: int = _field(2, "whole", ("mjgd",), "Block", "tokens decided at once", 1, 3)

    def __new__(cls, **values: Any) -> "DecodingSettings":
        refuse_names(values.keys() - {one.name for one in fields(cls)})
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, value in (("seed", randbelow(2**53)), ("top_k", 0)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, about in FIELDS.items():
            object.__setattr__(self, name, about.check(getattr(self, name)))
        self._check_lists()
        if self.method == "mjsd" and self.is_auto:
            raise SettingsError("draft_depth or draft_width is 'auto'; mjsd takes whole numbers")
        if self.max_width is not None and self.max_width < self.min_width:
            raise SettingsError(
                f"max_width is {self.max_width}, below min_width {self.min_width}; raise max_width or lower min_width"
            )
        if self.forest == "coupled":
            self._check_coupled()
        self._check_read()

    @property
    def widest(self) -> int:
        """The value that ``max_width`` resolves to: its own, or its default if it is None."""
        if self.max_width is not None:
            return self.max_width
        beams = BEAMS if self.draft_width == AUTO or self.forest == "coupled" else self.draft_width
        return min(max(beams, self.min_width), WIDEST)

    @property
    def kind_of_forest(self) -> str:
        """The value that ``forest`` resolves to: its own, or its default if it is None."""
        is_paper = not self.landing or self.input_beams is not None or not self.replacement
        return self.forest or ("sampled" if is_paper or self.min_width < self.widest else "coupled")

    @property
    def is_auto(self) -> bool:
        """True if a field is still to be found by measuring."""
        return any(getattr(self, name) == AUTO for name in AUTO_FIELDS)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DecodingSettings":
        """Make settings from plain data. Raises: SettingsError: an unknown field or a bad value.

        Of resolved settings, such as a trace's, only the fields that the method reads are taken.
        """
        if not isinstance(values, dict):
            raise SettingsError(f"settings are a {type(values).__name__}; give a dictionary of names and values")
        if "lossless" in values and "lossless" not in {one.name for one in fields(cls)}:
            method = values.get("method", "dsbd")
            unread = {about.name for about in FIELDS.values() if method not in about.methods} | {"lossless"}
            values = {name: value for name, value in values.items() if name not in unread}
        return cls(**values)

    def _check_coupled(self) -> None:
        """Refuse what would let a guess change the text: the width must not see the noise, nor iterations prune."""
        if self.method == "dsbd" and self.min_width < self.widest:
            name, value = "min_width", f"{self.min_width}, below max_width {self.widest}; make them equal"
        elif self.input_beams is not None:
            name, value = "input_beams", f"{self.input_beams}; leave it None"
        elif self.method == "dsbd" and not self.landing:
            name, value = "landing", "False; leave it True"
        else:
            return
        raise SettingsError(f"forest is 'coupled' and {name} is {value}, or take forest='sampled'")

    def _check_read(self) -> None:
        """Refuse a value that was set, would change nothing, and is not what the method does anyway."""
        implied = PLAIN | ({} if self.method in _DSBD else {"num_beams": 1}) | implied_by(self)
        for name, about in FIELDS.items():
            value = getattr(self, name)
            if self.method not in about.methods and value not in (about.default, implied.get(name, about.default)):
                readers = f"{', '.join(about.methods)} {'reads' if len(about.methods) == 1 else 'read'} it"
                width = "; the width of dsbd is min_width and max_width" if name == "num_beams" else ""
                raise SettingsError(
                    f"{name} is {value!r}, and method {self.method} does not read it; leave it out ({readers}){width}"
                )

    def _check_lists(self) -> None:
        """Check how long ``depth_costs`` and ``branching`` are, and how many nodes a tree has."""
        costs, counts = self.depth_costs, self.branching
        if counts is None and self.method == "specinfer":
            raise SettingsError("branching is None; specinfer needs it: name children per layer, such as 4,2,2")
        fits = {
            "depth_costs": costs is None or (self.draft_depth != AUTO and len(costs) == self.draft_depth + 1),
            "branching": counts is None
            or (1 <= len(counts) <= MOST_BRANCHINGS and sum(accumulate(counts, mul)) <= MOST_BRANCHED),
        }
        for name in (name for name, is_right in fits.items() if not is_right):
            raise SettingsError(f"{name} is {getattr(self, name)!r}; allowed are {FIELDS[name].allowed}")


PLAIN = {"draft_depth": 0, "draft_width": 1, "width_threshold": 1.0, "landing": False, "min_width": 1, "max_width": 1,
         "early_stopping": None, "forest": "coupled"}  # fmt: skip
"""Plain sampling: what fields that a method does not read are resolved to, if the method implies nothing else."""


def implied_by(settings: DecodingSettings) -> dict[str, Any]:
    """Return the values that a method implies, whatever its settings say."""
    wide = dict.fromkeys(("min_width", "max_width"), settings.num_beams)
    best = {"replacement": False, "temperature": 0.0, "top_p": 1.0}
    greedy = {"temperature": 0.0, "top_k": 1, "top_p": 1.0}
    match settings.method:
        case "dsbd":
            return {"max_width": settings.widest, "forest": settings.kind_of_forest}
        case "specinfer":
            assert settings.branching is not None, "checked by the settings"
            distinct = not settings.replacement or settings.temperature == 0  # all draws would be the likeliest child
            return {"draft_depth": len(settings.branching), "replacement": not distinct, "forest": "sampled"}
        case "beam_sampling":
            return wide
        case "beam_search":
            return wide | best
        case "speculative_beam_search":
            return wide | best | {"forest": "coupled", "landing": True}
        case "speculative":
            return {"forest": "sampled"}
        case "sampling":
            return {}
        case "greedy":
            return greedy
        case "mjsd":
            return {"lossless": False, "replacement": settings.temperature > 0, "forest": "sampled"}
        case "mjgd":
            own = {"draft_depth": settings.block, "joint_threshold": 0.0, "lossless": False, "forest": "sampled"}
            return greedy | own
    raise AssertionError(f"method {settings.method} has no rule here")


FIELDS: dict[str, Field] = {
    one.name: replace(one.metadata["about"], name=one.name, default=one.default) for one in fields(DecodingSettings)
}
"""The settings by name, in the order of :class:`DecodingSettings`."""
AUTO_FIELDS = tuple(name for name, about in FIELDS.items() if AUTO in (*about.also, *about.choices))
"""Fields that accept ``auto``: their values are found by measuring on this pair and device before decoding starts."""
EVERY_METHOD = tuple(name for name, about in FIELDS.items() if about.methods == METHODS and name != "method")
"""The fields that every method reads, besides ``method``."""


def refuse_names(unknown: Iterable[str], also: Sequence[str] = ()) -> None:
    """Raise SettingsError for the first name; it says what to take here: the closest field or ``also``."""
    known = sorted([*FIELDS, *also])
    for name in map(str, unknown):
        close = get_close_matches(name, known, 1) or [one for one in known if one in name]
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
        hint = f"take {OTHER_NAMES[name]}" if name in OTHER_NAMES else hint
        raise SettingsError(f"unknown setting {name!r}; {hint}")


def fields_of(method: str) -> list[Field]:
    """Return the settings that a method reads, besides ``method``, in their order; none of an unknown method.

    >>> [field.name for field in fields_of("greedy")]
    ['max_new_tokens', 'length_penalty', 'seed']
    """
    return [about for name, about in FIELDS.items() if method in about.methods and name != "method"]


def branching_of(text: str) -> tuple[int, ...]:
    """Read ``branching`` as it is typed: ``4,2,2`` or, where a comma separates values, ``4x2x2``.

    Raises:
        SettingsError: the text is not a list of whole numbers.
    """
    try:
        return tuple(int(count) for count in text.replace("x", ",").split(","))
    except ValueError:
        raise SettingsError(f"branching is {text[:60]!r}; name children per layer, such as 4,2,2") from None


@dataclass(frozen=True)
class ResolvedSettings(DecodingSettings):
    """Settings as the decoder runs them: nothing is ``auto``, and fields that the method does not read are filled in.

    Decoding with them again replays the run exactly.
    """

    draft_depth: int = 4
    draft_width: int = 6
    max_width: int = 6
    cover_width: int = 0
    early_stopping: bool | str | None = None
    forest: str = "sampled"
    lossless: bool = True
    """False for the joint test of ``mjsd`` and ``mjgd``: their text does not follow the target's distribution."""
    branching: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_auto:
            raise SettingsError("a field is auto; dsbd.decode and dsbd.stream resolve it")

    def _check_read(self) -> None:
        """Allow what the method implies."""

    @property
    def searches_blocks(self) -> bool:
        """True where the target itself searches the best block, and no bonus layer follows it."""
        return self.method == "mjgd"

    @property
    def layer_drafts(self) -> tuple[int, ...]:
        """The most drafts of each layer: draft_width, or as many as the parents and branching allow."""
        if self.branching is None:
            return (self.draft_width,) * self.draft_depth
        return tuple(accumulate(self.branching, mul))
