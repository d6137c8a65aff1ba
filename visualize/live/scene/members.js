/* Which nodes an iteration shows, and where they stand: twin of forest_places in visualize/scenes/build.py. */

import {tidy} from "./layout.js";
import {roundedTo} from "./rounding.js";

const COVER_HEIGHT = 0.62; // rows: cover nodes are many and small, except those that a beam landed on

/* The nodes below the input beams, by id: those that the iteration added, and earlier ones that it names again.
 * known: all nodes so far. */
export function membersOf({input_beams, nodes, trials, draws}, known) {
  const roots = new Set(input_beams.map(({node}) => node));
  const members = new Map(nodes.map((node) => [node.id, node]));
  for (const {node} of [...trials, ...draws]) {
    if (!members.has(node) && !roots.has(node)) members.set(node, known.get(node));
  }
  return members;
}

/* The column (0 for input beams, else the layer) and the row of every node, by id, input beams first. */
export function forestPlaces({input_beams, draws}, members) {
  const roots = input_beams.map(({node}) => node);
  const landed = new Set(draws.map(({node}) => node));
  const columns = new Map(roots.map((root) => [root, 0]));
  const heights = new Map();
  const children = new Map();
  for (const {id, parent, kind} of members.values()) {
    columns.set(id, columns.get(parent) + 1);
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(id);
    if (kind === "cover" && !landed.has(id)) heights.set(id, COVER_HEIGHT);
  }
  const rows = new Map([...tidy(children, roots, heights)].map(([id, row]) => [id, roundedTo(row, 3)]));
  return {columns, rows};
}

/* The nodes on the way to these beams. */
export function keptBy(beams, members) {
  const kept = new Set();
  for (const {node} of beams) {
    let at = node;
    for (; members.has(at); at = members.get(at).parent) kept.add(at);
    kept.add(at);
  }
  return kept;
}
