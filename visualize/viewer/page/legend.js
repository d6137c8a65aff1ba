/* Explains the marks that occur in the forest. */

import {make, symbol} from "../base/dom.js";
import {STYLES} from "../base/languages.js";

export function drawLegend(viewer, place) {
  const {now, say} = viewer;
  const states = now.steps.flatMap((step) => step.changes.map(([, state]) => state));
  const occurring = new Set(states.map((state) => viewer.mark(state).mark));
  const entry = (sign, text, mark = null) => make("li", {"data-mark": mark}, sign, make("span", {text}));
  const entries = Object.entries(STYLES)
    .filter(([mark]) => occurring.has(mark))
    .map(([mark, style]) => entry(symbol(style, mark), say(`mark.${mark}`), mark));
  if (now.steps.some((step) => step.changes.some(([, , slots]) => slots > 1))) {
    entries.push(entry(make("b", {text: say("node.multiplicity", {count: 2})}), say("mark.twice")));
  }
  if (now.nodes.some((node) => viewer.texts.final.has(node.id))) {
    const sign = make("span", {class: "dsbd-final", "aria-hidden": "true", text: "abc"});
    entries.push(entry(sign, say("node.final")));
  }
  place.replaceChildren(...entries);
}
