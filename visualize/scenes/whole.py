"""The whole decode as one tree: the returned text as a straight line, and every other guess as a twig below it.

A node stands at the position of its token in the text, on the line or below it; the room above the line is for words.
Ids of nodes are unique in a trace, so the forests of all iterations are joined by id. Cover nodes that no beam landed
on are left out: nobody guessed them, and they would be most of the tree.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dsbd.tracing.records import ROOT, BeamRecord
from visualize.layout import hanging
from visualize.scenes.records import Band, BeamScene, IterationScene, TreeNode, WholeScene


def whole_tree(
    iterations: Sequence[IterationScene], result: Sequence[BeamRecord] = (), *, length_penalty: float = 1.0
) -> WholeScene:
    """Join all iterations into one tree and place its nodes.

    Args:
        iterations: all there are so far, in order.
        result: ranked; empty while the decode runs. The line is then the best beam so far.
        length_penalty: ranks beams of different lengths while there is no result.
    """
    joined = _join(iterations)
    line = _path_to(result[0].node if result else _best_so_far(iterations, joined, length_penalty), joined)
    rows = hanging(_children(joined), [ROOT, *line])
    bands = _bands(iterations)
    last = max([node.position for node in joined.values()] + [band.last for band in bands], default=0)
    nodes = tuple(replace(node, row=rows[id_]) for id_, node in joined.items())
    return WholeScene(nodes, bands, len(line), last, max(rows.values()))


def _join(iterations: Iterable[IterationScene]) -> dict[int, TreeNode]:
    """All nodes by id, parents first. Input beams that no iteration added stand at the end of the prompt."""
    joined: dict[int, TreeNode] = {}
    for iteration in iterations:
        for node in iteration.nodes:
            if node.parent < 0 or node.state == "cover":
                continue
            above = iteration.nodes[node.parent].id
            parent = above if above in joined else ROOT
            position = joined[parent].position + 1 if parent != ROOT else 1
            joined[node.id] = TreeNode(node.id, parent, position, 0, node.state, iteration.index, node.label)
    return joined


def _best_so_far(iterations: Sequence[IterationScene], joined: dict[int, TreeNode], length_penalty: float) -> int:
    beams = [beam for iteration in iterations for beam in iteration.beams_after if beam.finished]
    if iterations:
        beams += [beam for beam in iterations[-1].beams_after if not beam.finished]

    def score(beam: BeamScene) -> float:
        length = joined[beam.node].position if beam.node in joined else 1
        return beam.log_weight / length**length_penalty

    return max(beams, key=score).node if beams else ROOT


def _path_to(node: int, joined: dict[int, TreeNode]) -> list[int]:
    """The nodes from the first token to this one."""
    path = []
    while node in joined:
        path.append(node)
        node = joined[node].parent
    return path[::-1]


def _children(joined: dict[int, TreeNode]) -> dict[int, list[int]]:
    """The children of each node, short twigs before long ones."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    reach = {id_: node.position for id_, node in joined.items()}
    for id_, node in reversed(joined.items()):
        children[node.parent].append(id_)
        if node.parent in reach:
            reach[node.parent] = max(reach[node.parent], reach[id_])
    return {node: sorted(below, key=reach.__getitem__) for node, below in children.items()}


def _bands(iterations: Iterable[IterationScene]) -> tuple[Band, ...]:
    """Every layer of an iteration is one position of the text."""
    bands: list[Band] = []
    for iteration in iterations:
        first = bands[-1].last + 1 if bands else 1
        bands.append(Band(iteration.index, first, first + len(iteration.layers) - 1))
    return tuple(bands)
