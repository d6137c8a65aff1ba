/* The whole decode as one tree: the text as a straight line, and every other guess as a twig below it. Twin of
 * visualize/scenes/whole.py. */

import {hanging} from "./layout.js";
import {PROMPT_END} from "./running.js";

/* Adds a node to the Map of all, by id. mark: how it looks; iteration: the one that added it. */
export function join(joined, {id, parent}, mark, iteration) {
  const above = joined.get(parent);
  joined.set(id, {
    id,
    parent: above ? parent : PROMPT_END,
    position: (above?.position ?? 0) + 1,
    row: 0,
    mark,
    iteration,
  });
}

/* Places the tree: the length of the text that ends in the node `last`, and the last position and row of all nodes. */
export function place(joined, last) {
  const line = [];
  for (let node = joined.get(last); node; node = joined.get(node.parent)) line.push(node.id);
  const rows = hanging(childrenOf(joined), [PROMPT_END, ...line.reverse()]);
  const sizes = {tokens: line.length, last_position: 0, last_row: 0};
  for (const node of joined.values()) {
    node.row = rows.get(node.id);
    sizes.last_position = Math.max(sizes.last_position, node.position);
    sizes.last_row = Math.max(sizes.last_row, node.row);
  }
  return sizes;
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
