/* What each layer of the iteration decided, and the whole decode: the hypotheses and its counts. */

import {make} from "../base/dom.js";
import {number} from "../base/words.js";

const COUNTS = [
  "iterations",
  "layers",
  "layers_per_iteration",
  "mean_width",
  "acceptance_rate",
  "accepted",
  "rejected",
  "orphaned",
  "unneeded",
  "recovered",
  "fresh",
  "bonus",
  "landed",
  "seconds",
];

export class LayersPanel {
  key = "layers";

  constructor(viewer) {
    this.viewer = viewer;
  }

  build(sheet) {
    this.list = make("ol", {class: "dsbd-layers"});
    sheet.replaceChildren(this.list);
  }

  update() {
    const {now, step, words, scene} = this.viewer;
    this.list.replaceChildren(
      ...now.layers
        .filter((layer) => layer.step <= step)
        .map((layer) => {
          const done = now.steps.some(
            (entry, at) => at <= step && entry.phase === "layer" && entry.layer === layer.layer,
          );
          const outcome = done ? `; ${words.outcome(layer)}` : "";
          return make(
            "li",
            {},
            make("b", {text: words.layerTitle(layer)}),
            ` — ${words.width(layer, scene.settings)}${outcome}`,
          );
        }),
    );
  }
}

export class ResultPanel {
  key = "result";
  whole = true;

  constructor(viewer) {
    this.viewer = viewer;
  }

  build(sheet) {
    const {say, scene} = this.viewer;
    const beams = scene.result.map((beam) => {
      const notes = [
        `${say("ui.score")} ${number(beam.score)}`,
        `${say("ui.log_weight")} ${number(beam.log_weight)}`,
        beam.finished ? say("ui.finished_beams") : "",
      ];
      return make(
        "li",
        {class: "dsbd-beam"},
        make("p", {class: "dsbd-line", dir: "auto", text: beam.text}),
        make("small", {text: notes.filter(Boolean).join(" · ")}),
      );
    });
    const counts = COUNTS.map((name) =>
      make("div", {}, make("dt", {text: say(`stat.${name}`)}), make("dd", {text: number(scene.statistics[name])})),
    );
    sheet.replaceChildren(
      make("h4", {text: say("ui.result")}),
      make("ol", {class: "dsbd-result"}, ...beams),
      make("h4", {text: say("ui.statistics")}),
      make("dl", {class: "dsbd-stats"}, ...counts),
    );
  }
}
