"""Makes the sentences of the drawings: every verdict, draw and width with its numbers.

Each language has one table of templates, ``words/<language>.json``, for Python and the viewer. Templates whose key
starts with ``page.`` are for pages and figures made in Python; the viewer never reads them. A number gets as many
digits as a reader needs to see which of two is larger.
"""

import json
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from importlib import resources
from typing import Any

from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import Draw, JointSums, Layer, Node, Trial
from visualize.words.plurals import plural_category

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN_FROM, _PLAIN_TO = 5e-4, 1e9
_MOST_DIGITS = 12


class Words:
    """The templates of one language.

    Args:
        language: its code; :func:`known_languages` lists them.

    Raises:
        ValueError: the language has no table.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.table = _load(language)

    def __call__(self, key: str, /, **values: Any) -> str:
        """Fill the template ``key`` with ``values``."""
        return self.table[key].format(**values)

    def counted(self, noun: str, count: int) -> str:
        """Say a number of ``drafts``, ``nodes``, ``cover`` nodes, ``beams``, ``tokens`` or ``passes``."""
        return self(f"count.{noun}.{plural_category(self.language, count)}", count=count)

    def trial(self, trial: Trial, *, width: int) -> str:
        """Say the verdict of one trial."""
        if trial.joint is not None:
            return self._joint(trial, trial.joint)
        if trial.verdict == "orphaned":
            return self("trial.orphaned")
        if trial.verdict == "unneeded":
            return self("trial.unneeded", width=width)
        if trial.acceptance is None or trial.uniform is None:
            return self(f"trial.{trial.verdict}_plain")
        if trial.verdict == "rejected" and trial.acceptance == 0:
            return self("trial.rejected_used" if trial.c else "trial.rejected_none")
        if trial.acceptance >= 1 and trial.residual_prob is not None:
            residual, draft = tell_apart(trial.residual_prob, trial.draft_prob)
            return self("trial.accepted_sure", residual=residual, draft=draft)
        u, ratio = tell_apart(trial.uniform, trial.acceptance)
        return self(f"trial.{trial.verdict}", u=u, ratio=ratio)

    def _joint(self, trial: Trial, sums: JointSums) -> str:
        if sums.target is None or trial.acceptance is None:
            return self("trial.joint_impossible")
        ratio, threshold = tell_apart(trial.acceptance, sums.threshold)
        return self(f"trial.joint_{trial.verdict}", ratio=ratio, threshold=threshold)

    def arithmetic(self, trial: Trial, node: Node) -> str:
        """Write the comparison that decided a trial, and where its numbers come from; empty if it has no numbers."""
        known = (self._comparison(trial), self._residual(trial, node))
        return "; ".join(text for text in known if text)

    def _comparison(self, trial: Trial) -> str:
        if trial.joint is not None:
            if trial.joint.target is None or trial.acceptance is None:
                return ""
            ratio, threshold = tell_apart(trial.acceptance, trial.joint.threshold)
            key = "formula.joint_accepted" if trial.verdict == "accepted" else "formula.joint_missed"
            return self(key, ratio=ratio, threshold=threshold)
        if trial.acceptance is None or trial.uniform is None or not 0 < trial.acceptance < 1:
            return ""
        u, chance = tell_apart(trial.uniform, trial.acceptance)
        return self("formula.below" if trial.uniform < trial.acceptance else "formula.above", u=u, chance=chance)

    def _residual(self, trial: Trial, node: Node) -> str:
        """Say where P' comes from, or which sums a joint test compared.

        The formula is written only if it gives the recorded number: without replacement, P and Q of the trial differ
        from those of the node.
        """
        if trial.joint is not None:
            target = "−∞" if trial.joint.target is None else number(trial.joint.target)
            return self("trial.joint_sums", target=target, draft=number(trial.joint.draft))
        if trial.residual_prob is None:
            return ""
        shown = {"residual": number(trial.residual_prob), "draft": number(trial.draft_prob)}
        if trial.c and trial.S and node.target_prob is not None:
            formula = max(node.target_prob - trial.c * trial.draft_prob, 0.0) / trial.S
            if math.isclose(formula, trial.residual_prob, rel_tol=1e-6, abs_tol=1e-9):
                return self("trial.residual", c=number(trial.c), S=number(trial.S), **shown)
        return self("trial.ratio", **shown)

    def draw(self, draw: Draw) -> str:
        """Say how one beam was drawn from the target's law."""
        sentence = self(f"draw.{draw.kind}")
        return f"{sentence}; {self('draw.landed')}" if draw.landed else sentence

    def interval(self, draw: Draw) -> str:
        """Write the interval that the random number of a draw fell into."""
        u, low, high = tell_apart(draw.uniform, draw.cdf_low, draw.cdf_high)
        key = "formula.residual_draw" if draw.kind == "recovered" else "formula.draw"
        return self(key, c=number(draw.c), u=u, low=low, high=high)

    def width(self, layer: Layer, settings: ResolvedSettings | None, chances: Sequence[float]) -> tuple[str, str]:
        """Say why the layer has its width: a sentence, and a short form for the drawing.

        The reason comes from the recorded numbers; without settings it is the recorded reason.

        Args:
            layer: the record.
            settings: the resolved ones; None if unknown.
            chances: the probabilities that decided the width (``visualize.scenes.chances.chances_of``).
        """
        if settings is None:
            return layer.width_reason or self("width.given", width=layer.width), ""
        is_ruled = layer.kind == "draft"
        reason = _draft_reason(layer, settings, chances) if is_ruled else _bonus_reason(layer, settings)
        reason = "joint" if layer.width_reason == "joint" else reason
        values: dict[str, Any] = {"width": layer.width, "next": layer.width + 1}
        tails = (_at(chances, layer.width), _at(chances, layer.width + 1), settings.width_threshold)
        shown = dict(zip(("reached", "missed", "threshold"), tell_apart(*tails), strict=True))
        sentence = self(f"width.{reason}", **values, **shown)
        if is_ruled and layer.kind == "bonus":
            sentence = self("width.rule", reason=sentence)
        return sentence, self(f"width.short_{reason}", **values, **shown)

    def layer_title(self, layer: Layer, before: int) -> str:
        """Name the layer; the one after guesses that all passed is free.

        ``before``: how many tokens of the text earlier passes brought.
        """
        return self.column_title(layer.layer, before, is_free=layer.kind == "bonus" and layer.layer > 1)

    def column_title(self, number: int, before: int, *, is_free: bool = False) -> str:
        """Name the layer of this number, and the place of its tokens in the text unless they are the same."""
        title = self("layer.bonus" if is_free else "layer.title", layer=number)
        return self("layer.place", title=title, position=before + number) if before else title

    def outcome(self, layer: Layer, landed: bool) -> str:
        """Say what followed from the layer's verdicts.

        ``landed``: whether a layer before it went on because its picks had been guessed too.
        """
        kind = "_likely" if layer.forest_mass is not None and layer.outcome == "short" else ""
        if layer.width_reason == "joint" and layer.outcome in ("passed", "short"):
            kind = "_joint"
        if layer.outcome == "bonus" and (layer.layer == 1 or landed):
            kind = "_first" if layer.layer == 1 else "_landed"
        return self(f"outcome.{layer.outcome}{kind}", layer=layer.layer, width=layer.width, accepted=layer.accepted)


def _draft_reason(layer: Layer, settings: ResolvedSettings, chances: Sequence[float]) -> str:
    width, threshold = layer.width, settings.width_threshold
    likely = "" if layer.forest_mass is None else "likely_"
    if width < settings.min_width:
        return f"{likely}support"
    if _at(chances, width) < threshold:
        return f"{likely}min" if width == settings.min_width else f"{likely}given"
    if width >= len(chances):
        return "likely_all" if likely else "all"
    if _at(chances, width + 1) >= threshold:
        return f"{likely}max" if width == settings.max_width else f"{likely}support"
    return f"{likely}between"


def _bonus_reason(layer: Layer, settings: ResolvedSettings) -> str:
    if settings.draft_depth == 0:
        return "bonus_plain"
    return "bonus" if layer.width == settings.max_width else "bonus_all"


def _at(chances: Sequence[float], count: int) -> float:
    return 1.0 if count < 1 else chances[count - 1] if count <= len(chances) else 0.0


def number(value: float, digits: int = 2) -> str:
    """Write a number for a sentence: ``0.42``, ``0.0031``, ``3.1·10⁻⁵``, ``2.0·10⁵²``, ``1``; with a true minus."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        places = digits if value == 0 or abs(value) >= 0.1 else digits - 1 - math.floor(math.log10(abs(value)))
        text = _fixed(value, places)
        text = text.rstrip("0").rstrip(".") if float(text) == round(value) == value else text
    else:
        rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        text = f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return text.replace("-", "−")


def _fixed(value: float, places: int) -> str:
    """Write the value with this many decimal places; ties round away from zero, as in browsers."""
    if value * 2.0 ** (places + 1) % 1:  # no tie is possible
        return f"{value:.{places}f}"
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def tell_apart(*values: float) -> list[str]:
    """Write the numbers with enough digits that different numbers look different."""
    distinct = len(set(values))
    for digits in range(2, _MOST_DIGITS):
        texts = [number(value, digits) for value in values]
        if len(set(texts)) == distinct:
            break
    return texts


@lru_cache
def _load(language: str) -> dict[str, str]:
    if language not in known_languages():
        raise ValueError(f"no strings for language {language!r}; there are {', '.join(known_languages())}")
    table: dict[str, str] = json.loads((_folder() / f"{language}.json").read_text(encoding="utf-8"))
    return table


def known_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a table, sorted."""
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def _folder() -> Any:
    return resources.files("visualize") / "words"
