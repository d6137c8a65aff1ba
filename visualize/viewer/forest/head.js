/* Above the forest: each layer's title, its width, why, and P(accepted >= k) as bars against the threshold. */

import sizes from "../../look/sizes.json" with {type: "json"};
import {draw, make} from "../base/dom.js";

const BARS = {top: 54, height: 46};
const LETTER = 6.3; // pixels a letter of a title takes on average; longer ones are cut

export function drawHead(forest, current) {
  const {viewer, geometry} = forest;
  const layers = Array.from({length: viewer.now.lastColumn}, (_, at) => told(viewer, at + 1, current));
  if (geometry.upright) forest.titles.replaceChildren(...layers.map((layer) => rowTitle(layer, geometry, forest.zoom)));
  else forest.head.replaceChildren(...layers.flatMap((layer) => columnHead(layer, geometry, viewer)));
}

/* What is known of a layer at this step. */
function told(viewer, number, current) {
  const found = viewer.now.layer(number);
  const layer = found && found.step <= viewer.step ? found : null;
  const title = layer ? viewer.words.layerTitle(layer) : viewer.say("layer.title", {layer: number});
  const [reason, short] = layer ? viewer.words.width(layer, viewer.scene.settings) : ["", ""];
  return {number, layer, title, reason, short, current: current === number};
}

function columnHead({number, layer, title, reason, short, current}, geometry, viewer) {
  const {x, width} = geometry.band(number);
  const room = Math.floor((width - 14) / LETTER);
  const line = (y, text, kind) =>
    draw("text", {
      x: x + 8,
      y,
      class: `dsbd-head-${kind}`,
      text: text.length > room ? `${text.slice(0, room - 1)}…` : text,
    });
  const parts = [
    draw("rect", {class: `dsbd-layer${current ? " dsbd-current" : ""}`, x, y: 2, width, height: 108, rx: 3}),
    line(19, title, "title"),
  ];
  if (!layer) return parts;
  parts.push(
    draw("title", {text: reason}),
    line(34, viewer.say("width.given", {width: layer.width}), "width"),
    line(48, short, "short"),
  );
  return [draw("g", {}, ...parts, ...bars(layer, x + 8, width - 20, viewer))];
}

function bars(layer, left, room, viewer) {
  const each = Math.min(15, room / Math.max(layer.at_least.length, 1));
  const {top, height} = BARS;
  const threshold = viewer.scene.settings.width_threshold;
  const parts = layer.at_least.map((value, at) =>
    draw("rect", {
      class: at < layer.width ? "dsbd-bar-chosen" : "dsbd-bar-left",
      x: left + at * each,
      width: each * sizes.bar,
      y: top + height * (1 - value),
      height: Math.max(height * value, 0.8),
    }),
  );
  if (threshold === undefined || !parts.length) return parts;
  const y = top + height * (1 - threshold);
  return [
    ...parts,
    draw("path", {class: "dsbd-threshold-line", d: `M${left - 4},${y}h${each * layer.at_least.length + 6}`}),
  ];
}

function rowTitle({number, layer, title, reason, short, current}, geometry, zoom) {
  const text = layer
    ? [make("b", {text: title}), ` · ${layer.width}${short ? ` · ${short}` : ""}`]
    : [make("b", {text: title})];
  const entry = make(
    "div",
    {class: `dsbd-row-title${current ? " dsbd-current" : ""}`, title: reason},
    make("span", {}, ...text),
  );
  entry.style.insetBlockStart = `${(geometry.band(number).y + 4) * zoom}px`;
  return entry;
}
