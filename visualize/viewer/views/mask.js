/* The forest attention mask: which node sees which.
 * Every node sees the prompt, its input beam, its ancestors and itself. */

import {clamp, draw, make, placeAt, scrolled} from "../base/dom.js";

const CELL = [13, 20];
const WIDE = 760; // pixels per token, least and most; and of the whole drawing
const LABELS = 128;
const HEADER = 96;
const PROMPT = 3;
const MARGIN = 60;

export class MaskPanel {
  key = "mask";

  build(sheet) {
    const {viewer} = this;
    const {now} = viewer;
    const scored = now.nodes.map((node, at) => at).filter((at) => now.nodes[at].kind !== "drawn");
    const column = new Map(scored.map((at, place) => [at, place]));
    this.rows = new Map();
    const cell = (this.cell = clamp(WIDE / scored.length, ...CELL));
    const across = (this.across = (PROMPT + scored.length) * cell);
    const width = LABELS + across + MARGIN;
    const height = HEADER + scored.length * cell + 4;
    const image = draw("svg", {
      class: "dsbd-mask",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": viewer.say("mask.alt", {count: scored.length}),
    });
    const x = (place) => LABELS + (PROMPT + place) * cell;
    image.append(
      draw("rect", {class: "dsbd-mask-ground", x: LABELS, y: HEADER, width: across, height: scored.length * cell}),
      this.title(LABELS + (PROMPT * cell) / 2, viewer.say("node.prompt")),
    );
    scored.forEach((at, place) => {
      const seen = now.pathTo(at).map((other) => [x(column.get(other)), other]);
      image.append(this.title(x(place) + cell / 2, viewer.labelOf(now.nodes[at]), at));
      image.append(this.row(at, HEADER + place * cell, seen));
    });
    image.addEventListener("pointerover", (event) => viewer.hover(placeAt(event)));
    image.addEventListener("pointerleave", () => viewer.hover(-1));
    this.said = make("p", {class: "dsbd-hint", "aria-live": "polite"});
    sheet.replaceChildren(
      make("p", {text: viewer.say("mask.title")}),
      this.said,
      scrolled(viewer.say("tab.mask"), image),
    );
  }

  title(x, text, at = null) {
    return draw("text", {
      class: "dsbd-mask-label",
      transform: `translate(${x + 4},${HEADER - 5}) rotate(-60)`,
      "data-at": at,
      text,
    });
  }

  row(at, y, seen) {
    const {viewer, cell, across} = this;
    const node = viewer.now.nodes[at];
    const text = draw("text", {
      class: "dsbd-mask-label",
      x: LABELS - 6,
      y: y + cell / 2 + 3.5,
      "text-anchor": "end",
      text: viewer.labelOf(node),
    });
    const box = (x, width, kind) =>
      draw("rect", {class: `dsbd-cell dsbd-cell-${kind}`, x: x + 1, y: y + 1, width: width - 2, height: cell - 2});
    const group = draw(
      "g",
      {class: `dsbd-mask-row dsbd-mask-${node.kind}`, "data-at": at},
      draw("rect", {class: "dsbd-hit", x: 0, y, width: LABELS + across, height: cell}),
      text,
      box(LABELS, PROMPT * cell, "prompt"),
      ...seen.map(([x, other]) => box(x, cell, other === at ? "self" : "seen")),
    );
    this.rows.set(at, group);
    return group;
  }

  update() {
    const {viewer} = this;
    const here = viewer.pointed;
    for (const [at, row] of this.rows) row.classList.toggle("dsbd-current", at === here);
    const path = this.rows.has(here)
      ? viewer.now.pathTo(here).map((at) => `“${viewer.labelOf(viewer.now.nodes[at])}”`)
      : [];
    const told = path.length
      ? viewer.say("mask.sees", {token: path[path.length - 1], path: path.join(" → ")})
      : viewer.say("mask.hint");
    if (this.said.textContent !== told) this.said.textContent = told;
  }
}
