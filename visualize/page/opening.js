/* Where a decode opens: where its forest is one, in the pass in which most nodes branch, one step before its end. There
 * a guess that fell has its card beside it; where it is narrow, a card would lie on the forest. */

const NARROW = 620; // pixels

export function openAt(viewer, {iterations, settings}, {clientWidth}) {
  const branches = iterations.map(branchesIn);
  const it = branches.indexOf(Math.max(...branches));
  if (it < 0) return;
  const node = clientWidth > NARROW ? droppedIn(iterations[it], settings.forest) : null;
  viewer.goto({it, step: Infinity, node});
  viewer.goto({step: viewer.where().step - 1, node, isExample: true});
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
