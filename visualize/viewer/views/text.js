/* The beams as running text, each token underlined by where it came from. */

import {make} from "../base/dom.js";
import {term} from "../base/term.js";
import {number} from "../base/words.js";

export class TextPanel {
  key = "text";

  build(sheet) {
    this.sheet = sheet;
    this.drawn = null;
  }

  update() {
    const {viewer} = this;
    const after = viewer.step === viewer.now.steps.length - 1;
    if (this.drawn === after) return;
    this.drawn = after;
    const beams = after ? viewer.now.beams_after : viewer.now.beams_before;
    const paths = beams.map((beam) => viewer.texts.path(beam.node));
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
    const begun = `${scene.memory ? "… " : ""}${scene.prompt.join("")}`; // before it are the segments of the memory
    const line = make("p", {class: best ? "dsbd-line" : "dsbd-line dsbd-best", dir: "auto"});
    let shared = 0;
    if (best) while (shared < path.length - 1 && shared < best.length && path[shared] === best[shared]) shared++;
    line.append(make("span", {class: "dsbd-origin-prompt", text: shared ? "…" : begun}));
    let run = null;
    path.slice(shared).forEach((token, index) => {
      const last = shared + index === path.length - 1;
      const fresh = added?.has(token.id) ?? false;
      const mark = this.viewer.mark(token.origin);
      if (run?.origin !== mark.mark || run.fresh !== fresh) {
        // one element per run of tokens: long texts stay light
        run = {
          origin: mark.mark,
          fresh,
          span: make("span", {class: `dsbd-origin dsbd-origin-${mark.mark}`, title: mark.name}),
        };
        run.span.classList.toggle("dsbd-new", fresh);
        line.append(run.span);
      }
      run.span.append(token.text + (last ? token.pending : ""));
    });
    const times = beam.multiplicity > 1 ? say("node.multiplicity", {count: beam.multiplicity}) : "";
    return make("div", {class: "dsbd-beam"}, line, beamNotes(this.viewer, times, beam, !best));
  }
}

/* The notes below the text of a beam. explains: whether the word log-weight opens its line here. */
export function beamNotes(viewer, first, {log_weight, finished}, explains) {
  const name = viewer.say("ui.log_weight");
  const [word, ...line] = explains ? term(viewer, "log_weight", name) : [name];
  const last = finished ? ` · ${viewer.say("ui.finished_beams")}` : "";
  return make("small", {}, first && `${first} · `, word, ` ${number(log_weight)}${last}`, ...line);
}
