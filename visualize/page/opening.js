/* Where a decode opens: {it, node}, -1 for no pass; the node is a guess that fell, whose card is beside it. */

/* The pass in which most nodes branch. On a telephone a card lies on what is below it: no node. */
export function openingOf({iterations, settings}) {
  const branches = iterations.map(branchesIn);
  const it = branches.indexOf(Math.max(...branches));
  const hasRoom = matchMedia("(min-width: 721px)").matches;
  return {it, node: it >= 0 && hasRoom ? droppedIn(iterations[it], settings.forest) : undefined};
}

function branchesIn({nodes}) {
  const parents = nodes.filter(({kind}) => kind !== "drawn").map(({parent}) => parent);
  return new Set(parents.filter((parent, at) => parents.indexOf(parent) !== at)).size;
}

/* The first guess that fell: in a test, or as no draw took it. */
function droppedIn({trials, nodes, layers}, forest) {
  if (forest !== "coupled") return trials.find(({verdict}) => verdict === "rejected")?.node;
  const drawn = new Set(layers.flatMap(({beams}) => beams.map(({node}) => node)));
  return nodes.find(({id, kind, layer}) => kind === "cover" && layer <= layers.length && !drawn.has(id))?.id;
}
