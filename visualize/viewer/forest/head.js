/* Above the forest: each layer's title, its width, and P(accepted >= k) as bars against the threshold. */

import sizes from "../../look/sizes.json" with {type: "json"};
import {draw} from "../base/dom.js";

const BARS = {top: 40, height: 32};
const LEFT = 8; // pixels between the edge of a band and what stands in it

export function drawHead(forest, current) {
  const {viewer, geometry} = forest;
  if (geometry.upright) return;
  const layers = Array.from({length: viewer.now.lastColumn}, (_, at) => at + 1);
  forest.head.replaceChildren(...layers.map((layer) => columnHead(layer, current === layer, geometry, viewer)));
}

/* What is known of a layer at this step. */
function columnHead(number, current, geometry, viewer) {
  const {x, width} = geometry.band(number);
  const found = viewer.now.layer(number);
  const layer = found && found.step <= viewer.step ? found : null;
  const line = (y, text, kind) => draw("text", {x: x + LEFT, y, class: `dsbd-head-${kind}`, text});
  const parts = [
    draw("rect", {class: `dsbd-layer${current ? " dsbd-current" : ""}`, x, y: 2, width, height: 96, rx: 3}),
    line(17, viewer.say("layer.title", {layer: number}), "title"),
  ];
  if (!layer) return draw("g", {}, ...parts);
  return draw(
    "g",
    {},
    ...parts,
    draw("title", {text: viewer.words.width(layer, viewer.scene.settings)}),
    line(32, viewer.say("head.width", {width: layer.width}), "width"),
    ...bars(layer, x + LEFT, width - 2 * LEFT - 4, viewer),
  );
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
