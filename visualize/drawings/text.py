"""Draws a forest as text: a tree of words and numbers for terminals and screen readers."""

from collections.abc import Iterator

from visualize.drawings.captions import known_numbers, whole_token
from visualize.scenes.records import IterationScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.words.words import number


def forest_text(source: Source | Scene, iteration: int | None = None) -> str:
    """Return the forest of one iteration, from 0, as text; None = of all iterations.

    Example:
        >>> print(visualize.forest_text(trace, iteration=4))

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    if not scene.iterations:
        return scene.strings["ui.empty"] + "\n"
    chosen = scene.iterations
    if iteration is not None:
        chosen = (chosen[check_iteration(iteration, len(chosen))],)
    return "\n".join("\n".join(_iteration(entry, scene)) + "\n" for entry in chosen)


def _iteration(iteration: IterationScene, scene: Scene) -> Iterator[str]:
    strings = scene.strings
    yield strings["figure.forest"].format(index=iteration.index + 1)
    for layer in iteration.layers:
        yield f"  {layer.title}: {layer.reason}; {layer.outcome_sentence}"
    children: dict[int, list[int]] = {}
    for place, node in enumerate(iteration.nodes):
        children.setdefault(node.parent, []).append(place)
    for root in children.get(-1, []):
        yield _line(iteration.nodes[root], strings)
        yield from _below(root, "", iteration, children, strings)
    tokens = {token.id: token for token in scene.tokens}
    for beam in iteration.beams_after:
        said, at = [], beam.node
        while at in tokens:
            said.append(tokens[at].text + (tokens[at].pending if at == beam.node else ""))
            at = tokens[at].parent
        name = strings["ui.finished_beams" if beam.finished else "ui.output_beams"]
        count = f" {strings['node.multiplicity'].format(count=beam.multiplicity)}" if beam.multiplicity > 1 else ""
        yield f"  {name}{count}, {strings['ui.log_weight']} {number(beam.log_weight)}: {''.join(reversed(said))!r}"


def _below(
    place: int, indent: str, iteration: IterationScene, children: dict[int, list[int]], strings: dict[str, str]
) -> Iterator[str]:
    below = children.get(place, [])
    for child in below:
        last = child == below[-1]
        yield f"{indent}{'└─ ' if last else '├─ '}{_line(iteration.nodes[child], strings)}"
        yield from _below(child, indent + ("   " if last else "│  "), iteration, children, strings)


def _line(node: NodeScene, strings: dict[str, str]) -> str:
    words = [whole_token(node, strings), strings[f"state.{node.state}"]]
    if node.slots > 1:
        words.append(strings["node.multiplicity"].format(count=node.slots))
    if node.landed:
        words.append(strings["state.landed"])
    words += known_numbers(node, strings)
    words += [fact.sentence for fact in node.facts]
    return " | ".join(words)
