"""Cuts an iteration off after one of its steps: later nodes and verdicts are gone."""

from dataclasses import replace

from visualize.scenes.records import Change, IterationScene, LayerScene


def at_step(iteration: IterationScene, step: int, layer_title: str) -> IterationScene:
    """Return the iteration after one of its steps, for still drawings; nodes stay where they are.

    Args:
        iteration: whole.
        step: place in its steps, from 0.
        layer_title: template for a column whose width is not chosen yet.
    """
    looks: dict[int, Change] = {}
    for told in iteration.steps[: step + 1]:
        looks.update((change.node, change) for change in told.changes)
    places = {place: now for now, place in enumerate(sorted(looks))}
    scored = step >= iteration.scored_step
    nodes = []
    for place in places:
        node, look = iteration.nodes[place], looks[place]
        nodes.append(
            replace(
                node,
                parent=places.get(node.parent, -1),
                state=look.state,
                slots=look.slots,
                landed=look.landed,
                target_prob=node.target_prob if scored else None,
                facts=tuple(fact for fact in node.facts if fact.step <= step),
            )
        )
    chosen = {layer.layer: layer for layer in iteration.layers if layer.step <= step}
    there = sorted({node.column for node in nodes if node.column > 0} | set(chosen))
    layers = [chosen.get(column) or LayerScene(column, layer_title.format(layer=column)) for column in there]
    return replace(iteration, nodes=tuple(nodes), layers=tuple(layers), steps=())
