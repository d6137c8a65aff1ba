"""Writes the label of a node and the lines shown on hover, as plain text; each drawing escapes them."""

from collections.abc import Iterator

from visualize.scenes.records import NodeScene
from visualize.words.words import number

_ISOLATE, _POP = "\u2068", "\u2069"


def isolated(text: str) -> str:
    """Return text whose direction does not affect its neighbours: right-to-left tokens do not turn them around."""
    return f"{_ISOLATE}{text}{_POP}"


def label(node: NodeScene, strings: dict[str, str]) -> str:
    """Return the label of a node, with how many beams end there."""
    count = " " + strings["node.multiplicity"].format(count=node.slots) if node.slots > 1 else ""
    return isolated(node.label) + count


def whole_token(node: NodeScene, strings: dict[str, str]) -> str:
    """Return the token, and the character it completes if that is split over tokens."""
    told = strings["node.completes"].format(character=node.completes) if node.completes else ""
    return f"{node.token} {told}".rstrip(" ")


def hover_lines(node: NodeScene, strings: dict[str, str], *, short: bool = False) -> Iterator[str]:
    """Yield the token, its state, its probabilities, and the arithmetic of each fact; ``short`` leaves formulas out."""
    yield whole_token(node, strings)
    yield strings[f"state.{node.state}"] + (f", {strings['state.landed']}" if node.landed else "")
    numbers = list(known_numbers(node, strings))
    if numbers:
        yield ", ".join(numbers)
    for fact in node.facts:
        yield f"{fact.title}: {fact.sentence}"
        if fact.detail and not short:
            yield fact.detail


def known_numbers(node: NodeScene, strings: dict[str, str]) -> Iterator[str]:
    """Yield P, Q and the log-weight with their names, as far as they are known."""
    named = (("ui.target", node.target_prob), ("ui.draft", node.draft_prob), ("ui.log_weight", node.log_weight))
    for key, value in named:
        if value is not None:
            yield f"{strings[key]} {number(value)}"
