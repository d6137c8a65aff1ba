/* The nodes of the iteration as a table of numbers, at the step shown. */

import {make, scrolled, table} from "../base/dom.js";
import {term} from "../base/term.js";
import {number} from "../base/words.js";

const COLUMNS = ["token", "parent", "layer", "state", "draft", "target", "uniform", "acceptance"];

export class TablePanel {
  key = "table";

  build(sheet) {
    const {viewer} = this;
    const {now, say} = viewer;
    const heads = COLUMNS.map((column) => say(`table.${column}`));
    this.cells = now.nodes.map(() =>
      COLUMNS.map((column) => make(column === "token" ? "th" : "td", {scope: column === "token" ? "row" : null})),
    );
    this.rows = this.cells.map((cells, at) => make("tr", {onclick: () => viewer.pin(at)}, ...cells));
    const caption = make("caption", {text: say("table.title", {index: now.number})});
    const said = make("p", {class: "dsbd-hint"}, ...term(viewer, "exact", say("ui.exact")));
    sheet.replaceChildren(said, scrolled(say("tab.table"), table(heads, this.rows, caption)));
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
      const values = [
        viewer.labelOf(node, "token"),
        parent ? viewer.labelOf(parent) : "",
        node.column,
        viewer.say(`state.${look.state}`) + (look.slots > 1 ? ` ×${look.slots}` : ""),
        shown(node.draft_prob),
        scored ? shown(node.target_prob) : "",
        facts.map((fact) => shown((fact.trial ?? fact.draw).uniform)).join(" "),
        facts.map((fact) => (fact.trial ? shown(fact.trial.acceptance) : "")).join(" "),
      ];
      values.forEach((value, column) => {
        if (this.cells[at][column].textContent !== String(value)) this.cells[at][column].textContent = value;
      });
    });
  }
}

const shown = (value) => (value === null ? "" : number(value));
