/* The whole decode: the hypotheses and its counts. */

import {make} from "../base/dom.js";
import {number} from "../base/words.js";
import {beamNotes} from "./text.js";

const COUNTS = [
  ..."iterations layers layers_per_iteration mean_width acceptance_rate accepted rejected orphaned".split(" "),
  ..."unneeded recovered fresh bonus landed seconds".split(" "),
];

export class ResultPanel {
  key = "result";
  whole = true;

  build(sheet) {
    const {viewer} = this;
    const {say, scene} = viewer;
    const beams = scene.result.map((beam, at) => {
      const text = make("p", {class: "dsbd-line", dir: "auto", text: beam.text});
      return make(
        "li",
        {class: "dsbd-beam"},
        text,
        beamNotes(viewer, `${say("ui.score")} ${number(beam.score)}`, beam, !at),
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
