/* The whole decode as one tree: the text as a straight line, and every other guess as a twig below it. Twin of
 * visualize/scenes/whole.py. */

import {markOf} from "../../viewer/base/marks.js";
import {hanging} from "./layout.js";

const PROMPT_END = 0;

/* Adds the nodes {id, parent, state} of an iteration, parents first, to the Map of all by id; cover nodes that no beam
 * landed on are left out. */
export function join(joined, nodes, iteration) {
  for (const {id, parent, state} of nodes) {
    if (parent < 0 || state === "cover") continue;
    const above = nodes[parent].id;
    const position = (joined.get(above)?.position ?? 0) + 1;
    joined.set(id, {id, parent: joined.has(above) ? above : PROMPT_END, position, mark: markOf(state), iteration});
  }
}

/* The tree as data. last: the node that ends the text; bands: rows [iteration, first position, last position]. */
export function wholeTree(joined, bands, last) {
  const line = [];
  for (let node = joined.get(last); node; node = joined.get(node.parent)) line.unshift(node.id);
  const rows = hanging(childrenOf(joined), [PROMPT_END, ...line]);
  let [position, row] = [bands.length ? bands[bands.length - 1][2] : 0, 0];
  const nodes = [...joined.values()].map((node) => {
    position = Math.max(position, node.position);
    row = Math.max(row, rows.get(node.id));
    return [node.id, node.parent, node.position, rows.get(node.id), node.mark, node.iteration];
  });
  return {
    tokens: line.length,
    last_position: position,
    last_row: row,
    nodes: {fields: ["id", "parent", "position", "row", "mark", "iteration"], rows: nodes},
    bands: {fields: ["iteration", "first", "last"], rows: bands},
  };
}

/* The last node of the best of these beams; the first one where several are best. */
export function bestNode(beams, joined, lengthPenalty) {
  const scores = beams.map(({node, log_weight}) => log_weight / (joined.get(node)?.position ?? 1) ** lengthPenalty);
  return beams[scores.indexOf(Math.max(...scores))]?.node ?? PROMPT_END;
}

/* The children of each node, short twigs before long ones. */
function childrenOf(joined) {
  const children = new Map();
  const reach = new Map([...joined].map(([id, {position}]) => [id, position]));
  for (const {id, parent} of [...joined.values()].reverse()) {
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(id);
    if (reach.has(parent)) reach.set(parent, Math.max(reach.get(parent), reach.get(id)));
  }
  for (const below of children.values()) below.sort((one, other) => reach.get(one) - reach.get(other));
  return children;
}
