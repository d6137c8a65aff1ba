"""The forest of one iteration as a Mermaid flowchart, for pages that draw such text themselves."""

from collections.abc import Iterator
from pathlib import Path

from dsbd.tracing.records import Iteration
from visualize.files import write
from visualize.look.states import YIELDED, styles
from visualize.scenes.records import NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.words.words import number

_SHAPES = {"input": ("[", "]"), "rejected": ("{{", "}}"), "bonus": ("([", "])"), "fresh": ("[/", "/]")}
"""The second code beside the colour, with the word in the node and the arrow that leads to it."""
_ROUND = ("(", ")")
_HARMLESS = " .,·×␣…"


def forest_mermaid(source: Source | Iteration | Scene, iteration: int = 0) -> str:
    """The forest of one iteration as a Mermaid flowchart.

    Args:
        source: a trace, the path of a trace file, a recorded result, a scene, or one iteration.
        iteration: which one, from 0.

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    if not scene.iterations:
        return f'flowchart LR\n  empty["{mermaid(scene.strings["ui.empty"])}"]\n'
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    lines = ["flowchart LR"]
    for place, node in enumerate(chosen.nodes):
        lines.append(f"  {_node(place, node, scene.strings)}")
        if node.parent >= 0:
            lines.append(f"  n{node.parent} {_arrow(node.state)} n{place}")
    lines += [f"  {line}" for line in _classes({node.state for node in chosen.nodes})]
    return "\n".join([*lines, ""])


def export_mermaid(source: Source, path: str | Path, iteration: int = 0) -> None:
    """Write :func:`forest_mermaid` to a file. Raises: TraceError."""
    write(path, forest_mermaid(source, iteration))


def mermaid(text: str) -> str:
    """Text that can end no label and start no markup: all but letters, digits and a few signs by their numbers."""
    return "".join(sign if sign.isalnum() or sign in _HARMLESS else f"#{ord(sign)};" for sign in text)


def _node(place: int, node: NodeScene, strings: dict[str, str]) -> str:
    left, right = _SHAPES.get(node.state, _ROUND)
    words = [strings[f"state.{node.state}"]] + ([strings["state.landed"]] if node.landed else [])
    if node.target_prob is not None:
        words.append(f"P {number(node.target_prob)}")
    count = f" ×{node.slots}" if node.slots > 1 else ""
    told = mermaid(node.label + count) + "<br/>" + mermaid(" · ".join(words))
    return f'n{place}{left}"{told}"{right}:::{node.state}'


def _arrow(state: str) -> str:
    return "==>" if state in YIELDED else "-->" if state in ("drafted", "unneeded") else "-.->"


def _classes(states: set[str]) -> Iterator[str]:
    for state in sorted(states):
        color = styles()[state].light
        yield f"classDef {state} fill:#fffffe,stroke:{color},color:#22272e,stroke-width:2px"
