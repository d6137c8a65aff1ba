/* The what-if view: other settings and random numbers on the left of each verdict, what would follow on the right. */

import {gauge} from "./card.js";
import {make, scrolled, symbol} from "../base/dom.js";
import {STYLES} from "../base/languages.js";
import {whatIf} from "../law/what_if.js";
import {number} from "../base/words.js";

export class WhatIfPanel {
  key = "whatif";

  constructor(viewer) {
    this.viewer = viewer;
  }

  /* Why nothing can be decided again, as the key of a sentence; empty where it can. */
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
      this.rows = null;
      sheet.replaceChildren(make("p", {class: "dsbd-hint", text: say(obstacle)}));
      return;
    }
    this.threshold = make("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.01,
      "aria-label": say("whatif.threshold"),
      oninput: (event) => this.change("width_threshold", event),
    });
    this.minimum = make("input", {
      type: "range",
      min: 1,
      max: settings.max_width,
      step: 1,
      "aria-label": say("whatif.min_width"),
      oninput: (event) => this.change("min_width", event),
    });
    this.shown = {width_threshold: make("output"), min_width: make("output")};
    this.result = make("div");
    this.verdict = make("p", {class: "dsbd-whatif-said", "aria-live": "polite"});
    const field = (key, input, output) =>
      make("label", {class: "dsbd-field"}, make("span", {text: say(key)}), input, output);
    sheet.replaceChildren(
      make("p", {class: "dsbd-counterfactual", text: say("whatif.marked")}),
      make(
        "div",
        {class: "dsbd-fields"},
        field("whatif.threshold", this.threshold, this.shown.width_threshold),
        field("whatif.min_width", this.minimum, this.shown.min_width),
        make("button", {type: "button", text: say("whatif.reset"), onclick: () => this.reset()}),
      ),
      this.verdict,
      this.result,
    );
    this.reset();
  }

  change(name, event) {
    this.changes[name] = Number(event.target.value);
    this.decide();
  }

  reset() {
    const {settings} = this.viewer.scene;
    this.changes = {uniforms: {}};
    this.threshold.value = settings.width_threshold;
    this.minimum.value = settings.min_width;
    this.buildRows();
    this.decide();
  }

  /* One row per trial of the iteration, with a slider for its random number. */
  buildRows() {
    const {viewer} = this;
    const {now, say} = viewer;
    this.rows = now.trials.map((trial, at) => {
      const input =
        trial.acceptance === null && trial.verdict !== "unneeded"
          ? null
          : make("input", {
              type: "range",
              min: 0,
              max: 0.999,
              step: 0.001,
              value: trial.uniform ?? 0.5,
              "aria-label": say("whatif.uniform", {token: viewer.labelOf(now.nodes[trial.node])}),
              oninput: (event) => {
                this.changes.uniforms[at] = Number(event.target.value);
                this.decide();
              },
            });
      const cells = {
        u: make("td"),
        gauge: make("td", {class: "dsbd-gauge-cell"}),
        before: make("td"),
        after: make("td"),
      };
      const name = make("th", {scope: "row", text: `${viewer.labelOf(now.nodes[trial.node])}`});
      return {
        cells,
        row: make(
          "tr",
          {},
          make("td", {text: trial.layer}),
          name,
          make("td", {}, ...(input ? [input] : [])),
          cells.u,
          cells.gauge,
          cells.before,
          cells.after,
        ),
      };
    });
    const head = [
      "table.layer",
      "table.token",
      "table.uniform",
      "whatif.value",
      "table.acceptance",
      "whatif.recorded",
      "whatif.would",
    ];
    this.result.replaceChildren(
      scrolled(
        say("tab.whatif"),
        make(
          "table",
          {class: "dsbd-table"},
          make("thead", {}, make("tr", {}, ...head.map((key) => make("th", {scope: "col", text: say(key)})))),
          make("tbody", {}, ...this.rows.map(({row}) => row)),
        ),
      ),
    );
  }

  decide() {
    const {viewer, changes} = this;
    const {now, say, scene} = viewer;
    const found = whatIf(now, scene.settings, changes);
    this.shown.width_threshold.textContent = number(changes.width_threshold ?? scene.settings.width_threshold);
    this.shown.min_width.textContent = changes.min_width ?? scene.settings.min_width;
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

  /* 1 where the verdict differs from the recorded one. */
  show(trial, at, entry) {
    const {viewer} = this;
    const {cells, row} = this.rows[at];
    const uniform = this.changes.uniforms[at] ?? trial.uniform;
    const state = (name) => [symbol(STYLES[name], name, 14), ` ${viewer.say(`state.${name}`)}`];
    const differs = Boolean(entry && entry.verdict !== trial.verdict);
    row.classList.toggle("dsbd-differs", differs);
    row.classList.toggle("dsbd-beyond", !entry);
    cells.u.textContent = uniform === null ? "–" : number(uniform, 3);
    cells.gauge.replaceChildren(
      ...(entry?.acceptance != null && uniform !== null
        ? [gauge({low: 0, high: entry.acceptance, u: uniform, state: "accepted"})]
        : []),
    );
    cells.before.replaceChildren(...state(trial.verdict));
    cells.after.replaceChildren(
      ...(entry ? [...state(entry.verdict), ...(differs ? [" ≠"] : [])] : [viewer.say("whatif.beyond")]),
    );
    return Number(differs);
  }
}
