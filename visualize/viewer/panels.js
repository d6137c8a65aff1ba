/* The views of an iteration that the fold offers: its text, its nodes as a table, and the attention mask of its forest.
 * Each is built when it is first opened. */

import {button, clamp, draw, make, indexAt, scrolled} from "./dom.js";
import {number} from "./words.js";

/* A view: built when it is opened, and updated at every step while it is open. */
export class Panel {
  constructor(viewer) {
    this.viewer = viewer;
  }

  build(sheet) {
    this.sheet = sheet;
    this.drawn = null;
  }
}

/* The beams as running text, each token underlined by where it came from. */
export class TextPanel extends Panel {
  key = "text";

  update() {
    const {viewer} = this;
    const after = viewer.step === viewer.now.steps.length - 1;
    if (this.drawn === after) return;
    this.drawn = after;
    const beams = after ? viewer.now.beams_after : viewer.now.beams_before;
    const paths = beams.map((beam) => viewer.scene.path(beam.node));
    const added = new Set(viewer.now.nodes.filter((node) => node.column > 0).map((node) => node.id));
    const lines = beams.map((beam, at) => this.beam(beam, paths[at], at ? paths[0] : null, after ? added : null));
    if (!lines.length) lines.push(make("p", {class: "dsbd-hint", text: viewer.say("text.empty")}));
    this.sheet.replaceChildren(
      make("p", {class: "dsbd-fact-title", text: viewer.say(after ? "ui.output_beams" : "ui.input_beams")}),
      ...lines,
    );
  }

  /* Leaves out what a beam shares with the best one. */
  beam(beam, path, best, added) {
    const {say, scene} = this.viewer;
    const begun = `${scene.memory ? "… " : ""}${scene.prompt}`; // before it are the segments of the memory
    const line = make("p", {class: best ? "dsbd-line" : "dsbd-line dsbd-best", dir: "auto"});
    let shared = 0;
    if (best) while (shared < path.length - 1 && shared < best.length && path[shared] === best[shared]) shared++;
    line.append(make("span", {class: "dsbd-origin-prompt", text: shared ? "…" : begun}));
    path.slice(shared).forEach(({id, text, pending, origin}, at, shown) => {
      const {mark, name} = this.viewer.mark(origin);
      const own = make("span", {class: `dsbd-origin dsbd-origin-${mark}`, title: name, text});
      own.classList.toggle("dsbd-new", Boolean(added?.has(id)));
      if (at === shown.length - 1) own.append(pending);
      line.append(own);
    });
    const notes = [`${say("ui.log_weight")} ${number(beam.log_weight)}`];
    if (beam.multiplicity > 1) notes.unshift(say("node.multiplicity", {count: beam.multiplicity}));
    if (beam.finished) notes.push(say("ui.finished_beams"));
    return make("div", {class: "dsbd-beam"}, line, make("small", {text: notes.join(" · ")}));
  }
}

const COLUMNS = ["token", "parent", "layer", "state", "draft", "target", "uniform", "acceptance"];

/* The nodes of the iteration as a table of numbers, at the step that is shown; the tokens are buttons. */
export class TablePanel extends Panel {
  key = "table";

  build(sheet) {
    const {viewer} = this;
    const {now, say} = viewer;
    const heads = COLUMNS.map((column) => make("th", {scope: "col", text: say(`table.${column}`)}));
    this.cells = now.nodes.map(() => [
      make("th", {scope: "row"}, button({class: "dsbd-token-button"})),
      ...COLUMNS.slice(1).map(() => make("td")),
    ]);
    this.rows = this.cells.map((cells, at) => make("tr", {onclick: () => viewer.pin(at)}, ...cells));
    const caption = make("caption", {text: say("table.title", {index: now.number})});
    const hint = make("p", {class: "dsbd-hint", text: say("term.exact")});
    const head = make("thead", {}, make("tr", {}, ...heads));
    const whole = make("table", {class: "dsbd-table"}, caption, head, make("tbody", {}, ...this.rows));
    sheet.replaceChildren(hint, scrolled(say("tab.table"), whole));
  }

  update() {
    const {viewer} = this;
    const {now} = viewer;
    const scored = viewer.step >= now.scoredStep;
    now.nodes.forEach((node, at) => {
      const look = viewer.look[at];
      this.rows[at].hidden = !look;
      if (!look) return;
      this.rows[at].classList.toggle("dsbd-current", at === viewer.pinned || at === now.steps[viewer.step].focus);
      const facts = now.facts[at].filter((fact) => fact.step <= viewer.step);
      const parent = now.nodes[node.parent];
      const [times, final] = viewer.notesOf(node, look);
      const state = [`${viewer.say(`state.${look.state}`)} ${times}`.trim(), final].filter(Boolean).join(", ");
      const values = [
        viewer.labelOf(node, "token"),
        parent ? viewer.labelOf(parent) : "",
        node.column,
        state,
        shown(node.draft_prob),
        scored ? shown(node.target_prob) : "",
        facts.map(({trial, draw}) => shown((trial ?? draw).uniform)).join(" "),
        facts.map((fact) => (fact.trial ? shown(fact.trial.acceptance) : "")).join(" "),
      ];
      values.forEach((value, column) => {
        const cell = this.cells[at][column].firstElementChild ?? this.cells[at][column];
        if (cell.textContent !== String(value)) cell.textContent = value;
      });
    });
  }
}

const shown = (value) => (value === null ? "" : number(value));

const CELL = [13, 20]; // pixels per token, least and most
const [WIDE, LABELS, HEADER, MARGIN] = [760, 128, 96, 60]; // pixels
const PROMPT = 3; // cells

/* The attention mask of the forest: every node sees the prompt, its input beam, its ancestors and itself. */
export class MaskPanel extends Panel {
  key = "mask";

  build(sheet) {
    const {viewer} = this;
    const {now} = viewer;
    const scored = now.nodes.map((node, at) => at).filter((at) => now.nodes[at].kind !== "drawn");
    const column = new Map(scored.map((at, index) => [at, index]));
    const cell = clamp(WIDE / scored.length, ...CELL);
    const across = (PROMPT + scored.length) * cell;
    const [width, height] = [LABELS + across + MARGIN, HEADER + scored.length * cell + 4];
    const size = {width, height, viewBox: `0 0 ${width} ${height}`};
    const about = {role: "img", "aria-label": viewer.say("mask.alt", {count: scored.length})};
    const image = draw("svg", {class: "dsbd-mask", ...size, ...about});
    const label = (at) => viewer.labelOf(now.nodes[at]);
    const x = (index) => LABELS + (PROMPT + index) * cell;
    const title = (left, text, at = null) => {
      const transform = `translate(${left + 4},${HEADER - 5}) rotate(-60)`;
      return draw("text", {class: "dsbd-mask-label", transform, "data-at": at, text});
    };
    const row = (at, y) => {
      const box = (left, wide, kind) =>
        draw("rect", {class: `dsbd-cell dsbd-cell-${kind}`, x: left + 1, y: y + 1, width: wide - 2, height: cell - 2});
      const side = {x: LABELS - 6, y: y + cell / 2 + 3.5, "text-anchor": "end"};
      return draw(
        "g",
        {class: `dsbd-mask-row dsbd-mask-${now.nodes[at].kind}`, "data-at": at},
        draw("rect", {class: "dsbd-hit", x: 0, y, width: LABELS + across, height: cell}),
        draw("text", {class: "dsbd-mask-label", ...side, text: label(at)}),
        box(LABELS, PROMPT * cell, "prompt"),
        ...now.pathTo(at).map((other) => box(x(column.get(other)), cell, other === at ? "self" : "seen")),
      );
    };
    this.rows = new Map(scored.map((at, index) => [at, row(at, HEADER + index * cell)]));
    image.append(
      draw("rect", {class: "dsbd-mask-ground", x: LABELS, y: HEADER, width: across, height: scored.length * cell}),
      title(LABELS + (PROMPT * cell) / 2, viewer.say("node.prompt")),
      ...scored.map((at, index) => title(x(index) + cell / 2, label(at), at)),
      ...this.rows.values(),
    );
    image.addEventListener("pointerover", (event) => viewer.hover(indexAt(event)));
    image.addEventListener("pointerleave", () => viewer.hover(-1));
    this.hint = make("p", {class: "dsbd-hint", "aria-live": "polite"});
    const lead = make("p", {text: viewer.say("mask.title")});
    sheet.replaceChildren(lead, this.hint, scrolled(viewer.say("tab.mask"), image));
  }

  update() {
    const {viewer} = this;
    const here = viewer.pointed;
    for (const [at, row] of this.rows) row.classList.toggle("dsbd-current", at === here);
    const path = this.rows.has(here) ? viewer.now.pathTo(here) : [];
    const labels = path.map((at) => `“${viewer.labelOf(viewer.now.nodes[at])}”`);
    const about = viewer.say(path.length ? "mask.sees" : "mask.hint", {token: labels.at(-1), path: labels.join(" → ")});
    if (this.hint.textContent !== about) this.hint.textContent = about;
  }
}
