/* Pixels of the drawing: layers are columns on wide pages and rows on narrow ones; sizes do not depend on the step.
 * The numbers that Python's drawings use too stand in look/sizes.json; visualize/look/sizes.py says what they are. */

import {clamp} from "../base/dom.js";
import sizes from "../../look/sizes.json" with {type: "json"};

export const HEAD = 108; // above columns: title, width, reason, bars
const NARROW = 560; // room below which layers become rows
const PITCH = [134, 236]; // pixels per column, least and most
const ROW = [23, 38];
const LAYER = 118; // pixels per layer when layers are rows
const SPREAD = 30; // pixels per node there
const TITLE = 34; // of a layer's own heading there

export function measure(iteration, room) {
  return room < NARROW ? rows(iteration) : columns(iteration, room);
}

function columns(iteration, room) {
  const left = 18;
  const last = Math.max(iteration.lastColumn, 1);
  const pitch = clamp((room - left - 8) / (last + 0.92), ...PITCH);
  const row = clamp(430 / (iteration.lastRow + sizes.free_rows), ...ROW);
  const width = Math.ceil(left + (last + 0.92) * pitch);
  const height = Math.ceil((iteration.lastRow + sizes.free_rows) * row + 6);
  const at = (node) => ({x: left + node.column * pitch, y: (node.row + sizes.first_row) * row});
  return {
    upright: false,
    width,
    height,
    pitch,
    at,
    label: {x: sizes.label_gap, y: sizes.label_drop, turn: 0},
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

function rows(iteration) {
  const width = Math.ceil((iteration.lastRow + sizes.free_rows) * SPREAD + 60);
  const height = (iteration.lastColumn + 1) * LAYER;
  const at = (node) => ({
    x: (node.row + sizes.first_row) * SPREAD,
    y: node.column * LAYER + (node.column ? TITLE + 14 : 26),
  });
  return {
    upright: true,
    width,
    height,
    pitch: LAYER,
    at,
    label: {x: 5, y: 16, turn: 38},
    band: (layer) => ({x: 0, y: layer * LAYER + 4, width, height: LAYER - 8}),
    edge: (parent, node) => {
      const from = at(parent);
      const to = at(node);
      const bend = to.y - TITLE - 12;
      const end = to.y - sizes.mark_gap;
      return (
        `M${from.x.toFixed(1)},${(from.y + sizes.mark_gap).toFixed(1)}V${bend.toFixed(1)}C${from.x.toFixed(1)},${(bend + 20).toFixed(1)} ` +
        `${to.x.toFixed(1)},${(bend + 14).toFixed(1)} ${to.x.toFixed(1)},${end.toFixed(1)}`
      );
    },
  };
}
