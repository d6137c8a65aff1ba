/* Pixels of the drawing: layers are columns on wide pages and rows on narrow ones; sizes do not depend on the step. */

import {clamp} from "../base/dom.js";

export const HEAD = 108; // above columns: title, width, reason, bars
const NARROW = 560; // room below which layers become rows
const PITCH = [134, 236]; // pixels per column, least and most
const ROW = [23, 38];
const GLYPH = 7.45; // pixels per monospace column at the label's size
const LABEL_GAP = 17; // from a node's centre to its label
const BEND = 0.7; // where in its column an edge leaves the parent's row
const LAYER = 118; // pixels per layer when layers are rows
const SPREAD = 30; // pixels per node there
const TITLE = 34; // of a layer's own heading there

export function measure(iteration, room) {
  return room < NARROW ? rows(iteration) : columns(iteration, room);
}

function columns(iteration, room) {
  const left = 18;
  const last = Math.max(iteration.columns, 1);
  const pitch = clamp((room - left - 8) / (last + 0.92), ...PITCH);
  const row = clamp(430 / (iteration.rows + 1.6), ...ROW);
  const width = Math.ceil(left + (last + 0.92) * pitch);
  const height = Math.ceil((iteration.rows + 1.6) * row + 6);
  const at = (node) => ({x: left + node.column * pitch, y: (node.row + 0.8) * row});
  return {
    upright: false,
    width,
    height,
    pitch,
    at,
    label: {x: LABEL_GAP, y: 4.3, turn: 0},
    band: (layer) => ({x: left + (layer - 0.12) * pitch, y: 0, width: 0.96 * pitch, height}),
    edge: (parent, node, slots) => {
      const from = at(parent);
      const to = at(node);
      const label = LABEL_GAP + (parent.columns + (slots > 1 ? 3 : 0)) * GLYPH + 7;
      const out = from.x + label;
      const bend = Math.max(from.x + BEND * pitch, out);
      const end = to.x - 11;
      const middle = (bend + end) / 2;
      return (
        `M${out.toFixed(1)},${from.y.toFixed(1)}H${bend.toFixed(1)}C${middle.toFixed(1)},${from.y.toFixed(1)} ` +
        `${middle.toFixed(1)},${to.y.toFixed(1)} ${end.toFixed(1)},${to.y.toFixed(1)}`
      );
    },
  };
}

function rows(iteration) {
  const width = Math.ceil((iteration.rows + 1.6) * SPREAD + 60);
  const height = (iteration.columns + 1) * LAYER;
  const at = (node) => ({x: (node.row + 0.8) * SPREAD, y: node.column * LAYER + (node.column ? TITLE + 14 : 26)});
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
      const end = to.y - 11;
      return (
        `M${from.x.toFixed(1)},${(from.y + 11).toFixed(1)}V${bend.toFixed(1)}C${from.x.toFixed(1)},${(bend + 20).toFixed(1)} ` +
        `${to.x.toFixed(1)},${(bend + 14).toFixed(1)} ${to.x.toFixed(1)},${end.toFixed(1)}`
      );
    },
  };
}
