/* Pixels of the drawing: layers are columns on wide pages; on narrow ones every node has a row, indented by
 * its layer. Sizes do not depend on the step.
 * Numbers that Python's drawings use too are in look/sizes.json; visualize/look/sizes.py says what they are. */

import {clamp} from "../base/dom.js";
import sizes from "../../look/sizes.json" with {type: "json"};

export const HEAD = 80; // above columns: title, width, bars
const NARROW = [420, 560]; // below the first every node has a row; below the second where columns do not fit
const PITCH = [106, 236]; // pixels per column, least and most
const ROW = [21, 32];
const TALL = 250; // pixels of height that rows share out
const INDENT = 30; // pixels per layer where every node has a row
const LINE = 27; // pixels per node there

export function measure(iteration, room) {
  const [always, perhaps] = NARROW;
  const fits = columns(iteration, room).width <= room;
  return room < always || (room < perhaps && !fits) ? outline(iteration, room) : columns(iteration, room);
}

function columns(iteration, room) {
  const left = 18;
  const last = Math.max(iteration.lastColumn, 1);
  const pitch = clamp((room - left - 8) / (last + 0.92), ...PITCH);
  const row = clamp(TALL / (iteration.lastRow + sizes.free_rows), ...ROW);
  const width = Math.ceil(left + (last + 0.92) * pitch);
  const height = Math.ceil((iteration.lastRow + sizes.free_rows) * row + 6);
  const at = (node) => ({x: left + node.column * pitch, y: (node.row + sizes.first_row) * row});
  return {
    upright: false,
    width,
    height,
    pitch,
    at,
    band: (layer) => ({x: left + (layer + sizes.band_start) * pitch, y: 0, width: sizes.band_width * pitch, height}),
    edge: (parent, node, slots) => {
      const from = at(parent);
      const to = at(node);
      const label = parent.label_columns + (slots > 1 ? sizes.count_columns : 0);
      const out = from.x + sizes.label_gap + label * sizes.glyph + sizes.label_end;
      const bend = Math.max(from.x + sizes.bend * pitch, out);
      const end = to.x - sizes.mark_gap;
      const middle = (bend + end) / 2;
      return (
        `M${out.toFixed(1)},${from.y.toFixed(1)}H${bend.toFixed(1)}C${middle.toFixed(1)},${from.y.toFixed(1)} ` +
        `${middle.toFixed(1)},${to.y.toFixed(1)} ${end.toFixed(1)},${to.y.toFixed(1)}`
      );
    },
  };
}

function outline(iteration, room) {
  const order = new Map();
  const {below, roots} = iteration.children();
  const visit = (places) => {
    const sorted = [...places].sort((one, other) => iteration.nodes[one].row - iteration.nodes[other].row);
    for (const place of sorted) {
      order.set(iteration.nodes[place], order.size);
      visit(below[place]);
    }
  };
  visit(roots);
  const at = (node) => ({x: 16 + node.column * INDENT, y: (order.get(node) + 0.6) * LINE});
  const reach = iteration.nodes.map(
    (node) => at(node).x + sizes.label_gap + (node.label_columns + sizes.count_columns) * sizes.glyph,
  );
  const width = Math.ceil(Math.max(room, ...reach));
  const height = Math.ceil((order.size + 0.3) * LINE);
  return {
    upright: true,
    width,
    height,
    pitch: INDENT,
    at,
    band: (layer) => ({x: 16 + (layer - 0.5) * INDENT, y: 0, width: INDENT, height}),
    edge: (parent, node) => {
      const from = at(parent);
      const to = at(node);
      const turn = INDENT - sizes.mark_gap;
      return `M${from.x},${(from.y + sizes.mark_gap).toFixed(1)}V${(to.y - turn).toFixed(1)}q0,${turn} ${turn},${turn}`;
    },
  };
}
