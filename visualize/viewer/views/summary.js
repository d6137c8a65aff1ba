/* What each layer of the iteration decided, and the whole decode: the hypotheses and its counts. */

import {make} from "../base/dom.js";
import {number} from "../base/words.js";
import {beamNotes} from "./text.js";

const COUNTS = [
  ..."iterations layers layers_per_iteration mean_width acceptance_rate accepted rejected orphaned".split(" "),
  ..."unneeded recovered fresh bonus landed seconds".split(" "),
];

export class LayersPanel {
  key = "layers";

  build(sheet) {
    this.list = make("ol", {class: "dsbd-layers"});
    sheet.replaceChildren(this.list);
  }

  update() {
    const {now, step, words, scene} = this.viewer;
    const shown = now.steps.slice(0, step + 1);
    const decided = new Set(shown.filter(({phase}) => phase === "layer").map(({layer}) => layer));
    const items = now.layers
      .filter((layer) => layer.step <= step)
      .map((layer) => {
        const outcome = decided.has(layer.layer) ? `; ${words.outcome(layer)}` : "";
        const text = ` — ${words.width(layer, scene.settings)}${outcome}`;
        return make("li", {}, make("b", {text: words.layerTitle(layer)}), text);
      });
    this.list.replaceChildren(...items);
  }
}

export class ResultPanel {
  key = "result";
  whole = true;

  build(sheet) {
    const {say, scene} = this.viewer;
    const beams = scene.result.map((beam) => {
      const text = make("p", {class: "dsbd-line", dir: "auto", text: beam.text});
      return make("li", {class: "dsbd-beam"}, text, beamNotes(say, `${say("ui.score")} ${number(beam.score)}`, beam));
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
