/* The marks that occur in the forest shown, directly below it, and the switch between three marks and exact ones. */

import {make, symbol} from "../base/dom.js";
import {ORDER} from "../base/marks.js";

export class Legend {
  constructor(viewer) {
    this.viewer = viewer;
    const {say} = viewer;
    this.list = make("ul", {class: "dsbd-legend", "aria-label": say("ui.legend")});
    const box = make("input", {
      type: "checkbox",
      class: "dsbd-exact",
      onchange: (event) => viewer.setExact(event.target.checked),
    });
    box.checked = viewer.exact;
    this.box = box;
    this.element = make(
      "div",
      {class: "dsbd-below"},
      this.list,
      make("label", {class: "dsbd-field"}, box, make("span", {text: say("ui.exact")})),
    );
  }

  /* What a number behind a token counts. */
  times(count) {
    const {say, words} = this.viewer;
    const sign = make("b", {text: say("node.multiplicity", {count})});
    return make("li", {}, sign, make("span", {text: words.counted("beams", count)}));
  }

  /* The underline below what became the text. */
  final() {
    const sign = make("span", {class: "dsbd-final", "aria-hidden": "true", text: "abc"});
    return make("li", {}, sign, make("span", {text: this.viewer.say("node.final")}));
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
    const entries = [...marks.values()].map(({state, style, name}) =>
      make("li", {"data-mark": state}, symbol(style, state), make("span", {text: name})),
    );
    if (now.steps.some((step) => step.changes.some(([, , slots]) => slots > 1))) entries.push(this.times(2));
    if (now.nodes.some((node) => viewer.texts.final.has(node.id))) entries.push(this.final());
    this.list.replaceChildren(...entries);
  }
}
