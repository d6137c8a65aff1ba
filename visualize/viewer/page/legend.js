/* Explains the marks that occur in the forest, and switches between three marks and exact states. */

import {make, symbol} from "../base/dom.js";
import {ORDER} from "../base/marks.js";

export class Legend {
  constructor(viewer) {
    this.viewer = viewer;
    const {say} = viewer;
    this.list = make("ul", {class: "dsbd-legend", "aria-label": say("ui.legend")});
    const change = (event) => viewer.setExact(event.target.checked);
    this.box = make("input", {type: "checkbox", class: "dsbd-exact", onchange: change});
    this.element = make(
      "div",
      {class: "dsbd-below"},
      this.list,
      make("label", {class: "dsbd-field"}, this.box, make("span", {text: say("ui.exact")})),
    );
  }

  build() {
    const {viewer} = this;
    const {now} = viewer;
    this.box.checked = viewer.exact;
    const occurring = new Set(now.steps.flatMap((step) => step.changes.map(([, state]) => state)));
    if (now.draws.some((draw) => draw.landed)) occurring.add("landed");
    const marks = new Map();
    for (const state of ORDER) {
      if (!occurring.has(state) || (state === "landed" && !viewer.exact)) continue;
      const mark = viewer.mark(state);
      marks.set(mark.state, mark);
    }
    const entry = (sign, text, mark = null) => make("li", {"data-mark": mark}, sign, make("span", {text}));
    const entries = [...marks.values()].map(({state, style, name}) => entry(symbol(style, state), name, state));
    if (now.steps.some((step) => step.changes.some(([, , slots]) => slots > 1))) {
      const sign = make("b", {text: viewer.say("node.multiplicity", {count: 2})});
      entries.push(entry(sign, viewer.words.counted("beams", 2)));
    }
    if (now.nodes.some((node) => viewer.texts.final.has(node.id))) {
      const sign = make("span", {class: "dsbd-final", "aria-hidden": "true", text: "abc"});
      entries.push(entry(sign, viewer.say("node.final")));
    }
    this.list.replaceChildren(...entries);
  }
}
