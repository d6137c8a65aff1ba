/* The target's cache row around the commit: which slots stay, which are dropped. */

import {make, symbol} from "../base/dom.js";

export class SlotsPanel {
  key = "slots";

  constructor(viewer) {
    this.viewer = viewer;
  }

  build(sheet) {
    const {viewer} = this;
    const {now, say} = viewer;
    const {prompt, scored, kept, nodes} = now.slots;
    const stays = new Set(nodes);
    this.boxes = [];
    const box = (node, at) => {
      const entry = make("button", {
        type: "button",
        class: "dsbd-slot",
        "data-at": at,
        tabindex: "-1",
        onpointerenter: () => viewer.hover(at),
        onpointerleave: () => viewer.hover(-1),
        onclick: () => viewer.pin(at),
      });
      this.boxes.push({entry, at, stays: stays.has(at)});
      return entry;
    };
    const forest = now.nodes
      .map((node, at) => [node, at])
      .filter(([node]) => node.kind !== "drawn" && node.kind !== "input");
    const live = Math.max(scored - prompt - forest.length, 0);
    const block = (key, count) =>
      make("div", {class: "dsbd-block"}, make("b", {text: String(count)}), make("span", {text: say(key)}));
    this.legend = make(
      "p",
      {class: "dsbd-hint"},
      make("i", {class: "dsbd-key dsbd-stays"}),
      say("slots.kept"),
      make("i", {class: "dsbd-key dsbd-dropped"}),
      say("slots.dropped"),
    );
    sheet.replaceChildren(
      make("p", {text: say("slots.title", {scored, kept, dropped: Math.max(scored - kept, 0)})}),
      make(
        "div",
        {class: "dsbd-slots"},
        block("slots.prompt", prompt),
        block("slots.live", live),
        ...forest.map(([node, at]) => box(node, at)),
      ),
      this.legend,
    );
  }

  update() {
    const {viewer} = this;
    const committed = viewer.now.steps[viewer.step].phase === "commit";
    const scored = viewer.step >= viewer.now.scoredStep;
    this.legend.hidden = !committed || !this.boxes.length; // only then the marks that it explains are drawn
    for (const {entry, at, stays} of this.boxes) {
      const look = viewer.look[at];
      const key = `${look?.state} ${committed} ${scored} ${viewer.exact}`;
      if (entry.dataset.key === key) continue;
      entry.dataset.key = key;
      entry.classList.toggle("dsbd-dropped", committed && !stays);
      entry.classList.toggle("dsbd-stays", committed && stays);
      entry.classList.toggle("dsbd-unused", !scored);
      const fate = committed ? `, ${viewer.say(stays ? "slots.kept" : "slots.dropped")}` : "";
      const mark = look && viewer.mark(look.state);
      const name = mark
        ? viewer.say("node.aria", {token: viewer.labelOf(viewer.now.nodes[at]), state: mark.name})
        : "–";
      entry.title = name + fate;
      entry.setAttribute("aria-label", name + fate);
      entry.replaceChildren(...(mark ? [symbol(mark.style, mark.state, 14)] : []));
    }
  }
}
