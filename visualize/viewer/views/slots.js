/* The target's cache row around the commit: which slots stay, which are dropped. */

import {button, make, symbol} from "../base/dom.js";

export class SlotsPanel {
  key = "slots";

  build(sheet) {
    const {viewer} = this;
    const {now, say} = viewer;
    const {scored, kept, nodes} = now.slots;
    this.stays = new Set(nodes);
    const forest = [...now.nodes.keys()].filter((at) => !["drawn", "input"].includes(now.nodes[at].kind));
    this.boxes = forest.map((at) => {
      const events = {onpointerenter: () => viewer.hover(at), onpointerleave: () => viewer.hover(-1)};
      const onclick = () => viewer.pin(at);
      return {entry: button({class: "dsbd-slot", "data-at": at, tabindex: "-1", ...events, onclick}), at};
    });
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
        ...this.counts(now, forest.length).map(([key, count]) => block(key, count)),
        ...this.boxes.map(({entry}) => entry),
      ),
      this.legend,
    );
  }

  /* What the slots without a box hold: [key, count]. The last token of the prompt is read in the first pass, and the
   * last tokens of the versions in every later one; a guess that repeats another has a separate slot. */
  counts({index, nodes, slots}, guesses) {
    const {prompt, before, scored} = slots;
    const beams = nodes.filter((node) => node.kind === "input").length;
    const first = index ? 0 : beams;
    if (before === null) return [["slots.prompt", prompt]];
    const live = before - prompt + beams - first;
    const counts = [
      ["slots.prompt", prompt + first],
      ["slots.live", live],
      ["slots.same", scored - prompt - first - live - guesses],
    ];
    return counts.filter(([key, count]) => key === "slots.prompt" || count > 0);
  }

  update() {
    const {viewer} = this;
    const committed = viewer.now.steps[viewer.step].phase === "commit";
    const scored = viewer.step >= viewer.now.scoredStep;
    this.legend.hidden = !committed || !this.boxes.length; // only the commit draws the marks that it explains
    for (const {entry, at} of this.boxes) {
      const stays = this.stays.has(at);
      const look = viewer.look[at];
      const key = `${look?.state} ${committed} ${scored}`;
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
      entry.replaceChildren(...(mark ? [symbol(mark.style, mark.mark, 14)] : []));
    }
  }
}
