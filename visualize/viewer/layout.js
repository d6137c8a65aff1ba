/* Places the nodes of trees: every node gets a row, so that no two nodes of a column overlap and no edges cross.
 * children: a Map of the children of each node, from the top down. Twin of visualize/layout.py, which says why. */

const EXTRA_HEIGHT = 0.62; // rows: extra candidates are many and small, except those that were drawn
const FREE = {siblings: 0, cousins: 0.3, trees: 0.9}; // rows between two nodes of one column

/* The row of every node of a forest, by id; the smallest is 0. */
export function rowsOf(input_beams, nodes, draws) {
  const landed = new Set(draws.map(({node}) => node));
  const small = nodes.filter(({id, kind}) => kind === "cover" && !landed.has(id));
  const heights = new Map(small.map(({id}) => [id, EXTRA_HEIGHT])); // the rows that a node takes, if not 1
  const children = new Map();
  for (const {id, parent} of nodes) children.set(parent, [...(children.get(parent) ?? []), id]);
  const roots = input_beams.map(({node}) => node);
  const down = packedRows(children, roots, heights);
  const mirrored = new Map([...children].map(([node, below]) => [node, [...below].reverse()]));
  const up = packedRows(mirrored, [...roots].reverse(), heights);
  const rows = new Map([...down].map(([node, row]) => [node, (row - up.get(node)) / 2]));
  const top = Math.min(...rows.values());
  return new Map([...rows].map(([node, row]) => [node, row - top]));
}

/* The rows with every subtree pushed up as far as it goes; the first root is at 0. */
function packedRows(children, roots, heights) {
  const offsets = new Map();
  const contours = new Map();
  const order = [...roots];
  for (const node of order) order.push(...(children.get(node) ?? [])); // it grows meanwhile: parents first
  for (const node of [...order].reverse()) {
    const below = children.get(node) ?? [];
    const {rows, contour} = stacked(below, contours, FREE.siblings, FREE.cousins);
    const middle = below.length ? (rows[0] + rows.at(-1)) / 2 : 0;
    below.forEach((child, at) => offsets.set(child, rows[at] - middle));
    const half = (heights.get(node) ?? 1) / 2;
    contours.set(node, [[-half, half], ...contour.map(([low, high]) => [low - middle, high - middle])]);
  }
  const stack = stacked(roots, contours, FREE.trees, FREE.trees);
  const rows = new Map(roots.map((root, at) => [root, stack.rows[at]]));
  for (const node of order) {
    for (const child of children.get(node) ?? []) rows.set(child, rows.get(node) + offsets.get(child));
  }
  return rows;
}

/* Stacks subtrees below each other: the row of each root, and the contour of them all, which says for each column where
 * its nodes begin and end. first, deeper: the free rows between the roots, and between the nodes below them. */
function stacked(nodes, contours, first, deeper) {
  const rows = [];
  const union = [];
  for (const node of nodes) {
    const contour = contours.get(node);
    let row = rows.length ? -Infinity : 0;
    for (let depth = 0; depth < Math.min(union.length, contour.length); depth++) {
      row = Math.max(row, union[depth][1] + (depth ? deeper : first) - contour[depth][0]);
    }
    rows.push(row);
    contour.forEach(([low, high], depth) => {
      union[depth] = [depth < union.length ? union[depth][0] : low + row, high + row];
    });
  }
  return {rows, contour: union};
}
