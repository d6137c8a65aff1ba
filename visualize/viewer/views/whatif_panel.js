/* The what-if view: the reader changes settings and random numbers, and sees which verdicts would differ. */

import {gauge} from "./card.js";
import {button, make, scrolled, symbol, table} from "../base/dom.js";
import {whatIf} from "../law/what_if.js";
import {number} from "../base/words.js";

const HEADS = "table.layer table.token table.uniform whatif.value table.acceptance whatif.recorded whatif.would".split(
  " ",
);

export class WhatIfPanel {
  key = "whatif";

  /* The key of a sentence that says why nothing can be decided again; empty if it can. */
  get obstacle() {
    const {now, scene} = this.viewer;
    if (scene.settings.width_threshold === undefined) return "whatif.no_settings";
    // No threshold and no random number changes a layer that is drawn whole.
    if (now.layers.every((layer) => layer.kind === "bonus") || !now.trials.length) return "whatif.no_trials";
    return now.trials.some((trial) => trial.joint) ? "whatif.joint" : "";
  }

  fits() {
    return !this.obstacle;
  }

  build(sheet) {
    const {viewer, obstacle} = this;
    const {say, scene} = viewer;
    const {settings} = scene;
    this.changes = {uniforms: {}};
    if (obstacle) {
      sheet.replaceChildren(make("p", {class: "dsbd-hint", text: say(obstacle)}));
      return;
    }
    this.fields = {
      width_threshold: this.field("whatif.threshold", "width_threshold", {min: 0, max: 1, step: 0.01}),
      min_width: this.field("whatif.min_width", "min_width", {min: 1, max: settings.max_width, step: 1}),
    };
    this.result = make("div");
    this.verdict = make("p", {class: "dsbd-whatif-said", "aria-live": "polite"});
    const labels = Object.values(this.fields).map(({label}) => label);
    sheet.replaceChildren(
      make("p", {class: "dsbd-counterfactual", text: say("whatif.marked")}),
      make("div", {class: "dsbd-fields"}, ...labels, button({text: say("whatif.reset"), onclick: () => this.reset()})),
      this.verdict,
      this.result,
    );
    this.reset();
  }

  /* A slider for a setting, with its label and the number it stands at. */
  field(key, name, range) {
    const text = this.viewer.say(key);
    const output = make("output");
    const input = slider(text, range, (value) => {
      this.changes[name] = value;
      this.decide();
    });
    return {input, output, label: make("label", {class: "dsbd-field"}, make("span", {text}), input, output)};
  }

  reset() {
    const {settings} = this.viewer.scene;
    this.changes = {uniforms: {}};
    for (const [name, {input}] of Object.entries(this.fields)) input.value = settings[name];
    this.buildRows();
    this.decide();
  }

  /* One row per trial of the iteration, with a slider for its random number. */
  buildRows() {
    const {viewer} = this;
    const {now, say} = viewer;
    this.rows = now.trials.map((trial, at) => {
      const token = viewer.labelOf(now.nodes[trial.node]);
      const cells = Array.from({length: 5}, () => make("td"));
      if (trial.acceptance !== null || trial.verdict === "unneeded") {
        const range = {min: 0, max: 0.999, step: 0.001, value: trial.uniform ?? 0.5};
        const change = (value) => {
          this.changes.uniforms[at] = value;
          this.decide();
        };
        cells[0].append(slider(say("whatif.uniform", {token}), range, change));
      }
      cells[2].className = "dsbd-gauge-cell";
      const layer = make("td", {text: trial.layer});
      return {cells, row: make("tr", {}, layer, make("th", {scope: "row", text: token}), ...cells)};
    });
    const rows = this.rows.map(({row}) => row);
    const heads = HEADS.map((key) => say(key));
    this.result.replaceChildren(scrolled(say("tab.whatif"), table(heads, rows)));
  }

  decide() {
    const {viewer, changes} = this;
    const {now, say, scene} = viewer;
    const found = whatIf(now, scene.settings, changes);
    for (const [name, {output}] of Object.entries(this.fields)) {
      output.textContent = number(changes[name] ?? scene.settings[name]);
    }
    const verdicts = new Map(found.layers.flatMap((layer) => layer.verdicts).map((entry) => [entry.trial, entry]));
    let differ = 0;
    now.trials.forEach((trial, at) => {
      differ += this.show(trial, at, verdicts.get(at));
    });
    const widths = found.layers
      .filter((layer) => layer.width !== now.layer(layer.layer).width)
      .map((layer) =>
        say("whatif.width", {layer: layer.layer, width: layer.width, recorded: now.layer(layer.layer).width}),
      );
    const stop = found.stop ? say(`whatif.stop_${found.stop.reason}`, {layer: found.stop.layer}) : say("whatif.whole");
    this.verdict.textContent = [say("whatif.differ", {count: differ}), ...widths, stop].join(" ");
  }

  /* Shows one trial. Returns 1 if its verdict differs from the recorded one, else 0. */
  show(trial, at, entry) {
    const {viewer} = this;
    const {cells, row} = this.rows[at];
    const [, value, chance, before, after] = cells;
    const uniform = this.changes.uniforms[at] ?? trial.uniform;
    const state = (name) => {
      const {style, mark} = viewer.mark(name);
      return [symbol(style, mark, 14), ` ${viewer.say(`state.${name}`)}`];
    };
    const differs = Boolean(entry && entry.verdict !== trial.verdict);
    row.classList.toggle("dsbd-differs", differs);
    row.classList.toggle("dsbd-beyond", !entry);
    value.textContent = uniform === null ? "–" : number(uniform, 3);
    chance.replaceChildren(
      ...(entry?.acceptance != null && uniform !== null
        ? [gauge({low: 0, high: entry.acceptance, u: uniform, mark: "kept"})]
        : []),
    );
    before.replaceChildren(...state(trial.verdict));
    after.replaceChildren(
      ...(entry ? [...state(entry.verdict), ...(differs ? [" ≠"] : [])] : [viewer.say("whatif.beyond")]),
    );
    return Number(differs);
  }
}

/* change gets the number at which the slider stands. */
const slider = (label, range, change) =>
  make("input", {type: "range", "aria-label": label, ...range, oninput: (event) => change(Number(event.target.value))});
