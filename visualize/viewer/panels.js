/* The views of an iteration that the fold offers: its text, its nodes as a table, the attention
 * mask of its forest, and charts of the whole decode. Each is built when it is first opened. */

import {button, clamp, draw, make, placeAt, scrolled, table, term} from "./dom.js";
import {sum} from "./law.js";
import {number} from "./words.js";

/* ---- the beams as running text, each token underlined by where it came from ------------------------------------- */

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
function beamNotes(viewer, first, {log_weight, finished}, explains) {
  const name = viewer.say("ui.log_weight");
  const [word, ...line] = explains ? term(viewer, "log_weight", name) : [name];
  const last = finished ? ` · ${viewer.say("ui.finished_beams")}` : "";
  return make("small", {}, first && `${first} · `, word, ` ${number(log_weight)}${last}`, ...line);
}

/* ---- the nodes of the iteration as a table of numbers, at the step shown; its tokens are buttons ---------------- */

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
    this.cells.forEach(([head]) => head.append(button({class: "dsbd-token-button"})));
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
      const [times, final] = viewer.notesOf(node, look);
      const told = [`${viewer.say(`state.${look.state}`)} ${times}`.trim(), final].filter(Boolean).join(", ");
      const values = [
        viewer.labelOf(node, "token"),
        parent ? viewer.labelOf(parent) : "",
        node.column,
        told,
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

/* ---- charts of the whole decode: widths, and seconds by phase --------------------------------------------------- */

const CHART = {width: 620, height: 180, left: 58, top: 12, bottom: 20};

/* Two small drawings, a column for each pass; a click goes to the pass. */
export class ChartsPanel {
  key = "charts";
  whole = true; // it shows all iterations

  build(sheet) {
    const {say, scene} = this.viewer;
    const {iterations} = scene;
    const phases = Object.keys(iterations[0].seconds);
    this.bands = [];
    const widths = this.chart(
      Math.max(...iterations.flatMap(({layers}) => [layers.length, ...layers.map(({width}) => width)])),
      ({layers}, column) => [
        column("dsbd-chart-layers", layers.length),
        ...layers.map(({width}) => column("dsbd-chart-width", width, width)),
      ],
    );
    const seconds = this.chart(
      Math.max(...iterations.map(({seconds: spent}) => sum(Object.values(spent)))),
      (one, column) =>
        phases.map((phase, at) => {
          const below = sum(phases.slice(0, at).map((other) => one.seconds[other]));
          return column(`dsbd-chart-${phase}`, below + one.seconds[phase], below);
        }),
    );
    const key = (kind, text) => make("span", {}, make("i", {class: `dsbd-key dsbd-chart-${kind}`}), say(text));
    const keys = [key("layers", "figure.layers"), key("width", "figure.layer_width")];
    const title = (text) => make("p", {class: "dsbd-fact-title", text});
    const legend = (...inside) => make("p", {class: "dsbd-hint"}, ...inside);
    sheet.replaceChildren(
      ...[title(say("figure.width")), widths, legend(...keys)],
      ...[
        title(`${say("figure.timeline")} (${say("figure.seconds")})`),
        seconds,
        legend(...phases.map((phase) => key(phase, `bar.${phase}`))),
      ],
    );
  }

  /* most: the largest value. marks(iteration, column): those of a pass, made by column(class, value, from = 0), which
   * is a line where both values are the same. */
  chart(most, marks) {
    const {viewer} = this;
    const {iterations} = viewer.scene;
    const {width, height, left, top, bottom} = CHART;
    const each = Math.min((width - left) / iterations.length, 40);
    const y = (value) => height - bottom - (value / most) * (height - bottom - top);
    const text = (x, at, said, anchor) => draw("text", {x, y: at, "text-anchor": anchor, text: said});
    const every = Math.ceil(30 / each);
    const columns = iterations.map((iteration, at) => {
      const x = left + at * each;
      const band = draw("rect", {class: "dsbd-chart-band", x, y: top, width: each, height: height - top});
      const column = (kind, value, from = 0) => {
        const tall = Math.max(y(from) - y(value), 2);
        return draw("rect", {
          class: kind,
          x: x + 0.15 * each,
          width: 0.7 * each,
          y: y(value) - tall * (value === from),
          height: tall,
        });
      };
      this.bands.push(band);
      const label = at % every ? [] : [text(x + each / 2, height - 6, iteration.number, "middle")];
      const onclick = () => viewer.goto({it: at, step: 0});
      return draw("g", {onclick}, band, ...marks(iteration, column), ...label);
    });
    const frame = [text(left - 6, top + 8, number(most), "end"), text(left - 6, y(0), "0", "end")];
    const size = {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": viewer.say("tab.charts")};
    return draw("svg", {class: "dsbd-chart", ...size}, ...frame, ...columns);
  }

  update() {
    this.bands.forEach((band, at) => {
      band.classList.toggle("dsbd-current", at % this.viewer.scene.iterations.length === this.viewer.it);
    });
  }
}

/* ---- the forest attention mask: every node sees the prompt, its input beam, its ancestors and itself ------------ */

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
