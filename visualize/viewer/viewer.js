/* The viewer: draws a scene (visualize/scene.py) and steps through it. One ES module, no framework.
 *
 *   const handle = mount(element, scene, {theme, Plotly, onchange});
 *   handle.setScene(scene, {follow: true});  handle.goto({it: 2, step: 5});  handle.destroy();
 *
 * Positions and sentences come from the scene; this module decides nothing about the decode.
 * Token text is untrusted: it enters the page through textContent, and Plotly only escaped.
 */

const SVG = "http://www.w3.org/2000/svg";
const PITCH = 134;        // least pixels per column
const PITCH_NARROW = 124;
const GLYPH = 7.45;       // pixels per monospace column at the label's size
const LABEL_GAP = 17;     // pixels from a node's centre to its label
const BAND = 112;         // pixels above the forest for the widths
const BEND = 0.7;         // where in its column an edge leaves the parent's row
const PLAY_MS = 1100;
const DRAG_MS = 150;        // how long a drag is left alone before news are drawn
const FONT = 'ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const YIELDED = ["accepted", "recovered", "fresh", "bonus"];
const LEGEND = ["input", "drafted", "cover", "accepted", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus", "landed"];

export function mount(element, scene = null, options = {}) {
  const viewer = new Viewer(element, options);
  viewer.setScene(scene, {follow: Boolean(options.follow)});
  return {
    setScene: (next, how = {}) => viewer.setScene(next, how),
    goto: (place) => viewer.goto(place),
    where: () => ({it: viewer.it, step: viewer.step}),
    destroy: () => viewer.destroy(),
  };
}

/* Plotly reads a little HTML in its texts; nothing of a token may become markup. */
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/* As visualize/words.py writes numbers. */
function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  if (size >= 0.1) return value.toFixed(2).replace("-", "−");
  if (size >= 5e-4) return value.toPrecision(2).replace("-", "−");
  const [mantissa, exponent] = value.toExponential(1).split("e");
  return `${mantissa}·10${[...exponent.replace("+", "")].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("")}`.replace("-", "−");
}

const records = (fields, rows) => rows.map((row) => Object.fromEntries(fields.map((field, at) => [field, row[at]])));

/* An iteration as visualize/pack.py sent it, with its tables opened. */
function unpacked(iteration) {
  const {nodes, steps} = iteration;
  return {...iteration,
    nodes: records(nodes.fields, nodes.rows).map((node, at) => ({...node, facts: records(nodes.facts, nodes.told[at])})),
    steps: records(steps.fields, steps.rows).map((step, at) => ({...step, changes: records(steps.changes, steps.made[at])}))};
}

/* Control glyphs as paths: the characters for them are coloured emoji on many machines. */
const GLYPHS = {first: "M5 4h2v16H5zM20 4v16L8 12z", back: "M18 4v16L6 12z", play: "M7 4v16l13-8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  forward: "M6 4v16l12-8z", last: "M17 4h2v16h-2zM4 4v16l12-8z"};

function glyph(name) {
  const image = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("class", "dsbd-glyph");
  image.setAttribute("aria-hidden", "true");
  path.setAttribute("d", GLYPHS[name]);
  image.append(path);
  return image;
}

/* The symbol of a state as an image for legends and headings. */
function symbol(style, color, size = 16) {
  const image = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  image.setAttribute("viewBox", "-1.35 -1.35 2.7 2.7");
  image.setAttribute("width", size);
  image.setAttribute("height", size);
  image.setAttribute("aria-hidden", "true");
  path.setAttribute("d", style.path);
  path.setAttribute("fill", style.filled ? color : "none");
  path.setAttribute("stroke", color);
  path.setAttribute("stroke-width", style.filled ? 0.1 : 0.32);
  image.append(path);
  return image;
}

class Viewer {
  constructor(element, options) {
    this.element = element;
    this.options = options;
    this.scene = null;
    this.it = 0;
    this.step = 0;
    this.hovered = this.pinned = -1;
    this.timer = null;
    this.speed = 1;
    this.drawn = null;
    this.opened = new WeakMap();
    this.cleanup = [];
    this.root = make("section", {class: "dsbd", tabindex: "0"});
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    element.replaceChildren(this.root);
    this.watchTheme();
    this.watchSize();
  }

  get Plotly() { return this.options.Plotly || globalThis.Plotly; }
  get now() {
    const packed = this.scene.iterations[this.it];
    if (!this.opened.has(packed)) this.opened.set(packed, unpacked(packed));
    return this.opened.get(packed);
  }
  say(key, values = {}) {
    return (this.scene.strings[key] || key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  }
  color(state) { return this.scene.styles[state][this.theme]; }

  /* ---- life ------------------------------------------------------------------------------- */

  /* `follow` goes to the newest step; `append` keeps the iterations there are and adds or replaces those given. */
  setScene(scene, {follow = false, append = false} = {}) {
    const first = !this.scene;
    if (append && !first && scene) {
      const byIndex = new Map([...this.scene.iterations, ...scene.iterations].map((entry) => [entry.index, entry]));
      scene = {...scene, iterations: [...byIndex.values()].sort((one, other) => one.index - other.index)};
    }
    this.scene = scene;
    this.decode = JSON.stringify([scene?.prompt, scene?.settings]);  // the zoom belongs to one decode
    if (!scene) return this.root.replaceChildren();
    if (first || !this.parts) this.build();
    const last = scene.iterations.length - 1;
    this.parts.empty.hidden = last >= 0;
    this.parts.body.hidden = last < 0;
    this.parts.title.textContent = [scene.title, scene.models.join(" + ")].filter(Boolean).join(" · ");
    if (last < 0) { this.drawn = null; return; }
    this.drawn = null;
    this.colorize();
    this.drawResult();
    this.drawStats();
    const it = follow ? last : clamp(this.it, 0, last);
    this.goto({it, step: follow ? Infinity : this.step});
  }

  goto({it = this.it, step = this.step} = {}) {
    if (!this.scene || !this.scene.iterations.length) return;
    this.it = clamp(Math.round(it) || 0, 0, this.scene.iterations.length - 1);
    this.step = clamp(step === Infinity ? Infinity : Math.round(step) || 0, 0, this.now.steps.length - 1);
    this.hovered = -1;
    this.render();
    this.options.onchange?.({it: this.it, step: this.step});
  }

  destroy() {
    this.pause();
    clearTimeout(this.later);
    this.cleanup.forEach((undo) => undo());
    if (this.parts && this.Plotly) this.Plotly.purge(this.parts.plot);
    this.root.remove();
    this.scene = null;
  }

  watchTheme() {
    const media = globalThis.matchMedia("(prefers-color-scheme: dark)");
    const dark = () => {
      if (this.options.theme === "light" || this.options.theme === "dark") return this.options.theme === "dark";
      if (this.element.closest(".dark")) return true;
      return document.querySelector(".gradio-container") ? false : media.matches;
    };
    const apply = () => {
      const theme = dark() ? "dark" : "light";
      if (theme === this.theme) return;
      this.root.dataset.theme = this.theme = theme;
      if (this.scene) { this.colorize(); this.parts && this.scene.iterations.length && this.render(); }
    };
    const observer = new MutationObserver(apply);
    for (const node of [document.documentElement, document.body]) observer.observe(node, {attributeFilter: ["class"]});
    media.addEventListener("change", apply);
    this.cleanup.push(() => observer.disconnect(), () => media.removeEventListener("change", apply));
    apply();
  }

  watchSize() {
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (this.root.clientWidth === width) return;
      width = this.root.clientWidth;
      if (this.scene?.iterations.length) { this.drawn = null; this.render(); }
    });
    observer.observe(this.root);
    this.cleanup.push(() => observer.disconnect());
  }

  /* ---- the page --------------------------------------------------------------------------- */

  build() {
    const say = (key) => this.say(key);
    const slider = (key, act) => make("input", {type: "range", min: 0, step: 1, "aria-label": say(key),
      oninput: (event) => { this.pause(); act(Number(event.target.value)); }});
    const p = this.parts = {
      title: make("h3", {class: "dsbd-title"}),
      empty: make("p", {class: "dsbd-empty", text: say("ui.empty")}),
      body: make("div", {class: "dsbd-body"}),
      play: this.button("play", () => this.timer ? this.pause() : this.play()),
      steps: slider("ui.step", (step) => this.goto({step})),
      iterations: slider("ui.iteration", (it) => this.goto({it, step: 0})),
      stepCount: make("span", {class: "dsbd-count"}),
      iterationCount: make("span", {class: "dsbd-count"}),
      phases: make("div", {class: "dsbd-phases", "aria-hidden": "true"}),
      chip: make("span", {class: "dsbd-chip"}),
      sentence: make("p", {class: "dsbd-sentence", "aria-live": "polite", "aria-atomic": "true"}),
      plot: make("div", {class: "dsbd-plot"}),
      scroller: make("div", {class: "dsbd-scroller", role: "img", "aria-label": say("ui.drawing")}),
      card: make("aside", {class: "dsbd-card"}),
      legend: make("ul", {class: "dsbd-legend", "aria-label": say("ui.legend")}),
      text: make("div", {class: "dsbd-text"}),
      layers: make("ol", {class: "dsbd-layers"}),
      tree: make("ul", {class: "dsbd-tree", role: "tree", "aria-label": say("ui.tree")}),
      result: make("ol", {class: "dsbd-result"}),
      stats: make("dl", {class: "dsbd-stats"}),
    };
    this.root.setAttribute("aria-label", say("ui.viewer"));
    p.scroller.append(p.plot);
    p.tree.addEventListener("keydown", (event) => this.onTreeKey(event));
    const fold = (key, ...inside) => make("details", {}, make("summary", {text: say(key)}), ...inside);
    p.body.append(this.controls(),
      make("div", {class: "dsbd-told"}, p.chip, p.sentence),
      make("div", {class: "dsbd-stage"}, p.scroller, p.card), p.legend,
      make("h4", {text: say("ui.text")}), p.text,
      fold("ui.layers", p.layers), fold("ui.tree", p.tree), fold("ui.result", p.result), fold("ui.statistics", p.stats),
      make("p", {class: "dsbd-keys", text: say("ui.keys")}));
    const tools = make("div", {class: "dsbd-tools"},
      make("button", {type: "button", text: say("ui.reset"), onclick: () => this.resetView()}),
      make("button", {type: "button", text: say("ui.svg"), onclick: () => this.saveSvg()}));
    this.root.replaceChildren(make("header", {class: "dsbd-head"}, p.title, tools), p.empty, p.body);
  }

  button(name, act) {
    const label = this.say(`ui.${name}`);
    return make("button", {type: "button", class: `dsbd-${name}`, "aria-label": label, title: label, onclick: act}, glyph(name));
  }

  controls() {
    const p = this.parts, say = (key) => this.say(key);
    const speed = make("select", {"aria-label": say("ui.speed"), title: say("ui.speed"), onchange: (event) => {
      this.speed = Number(event.target.value);
      if (this.timer) this.play();
    }});
    for (const value of [0.5, 1, 2, 4]) speed.append(make("option", {value, text: `${value}×`}));
    speed.value = "1";
    return make("div", {class: "dsbd-controls"},
      make("div", {class: "dsbd-buttons", role: "group", "aria-label": say("ui.step")},
        this.button("first", () => this.go(0)), this.button("back", () => this.move(-1)), p.play,
        this.button("forward", () => this.move(1)), this.button("last", () => this.go(Infinity)), speed),
      make("div", {class: "dsbd-scrub"}, make("span", {class: "dsbd-name", text: say("ui.step")}),
        make("div", {class: "dsbd-track"}, p.steps, p.phases), p.stepCount),
      make("div", {class: "dsbd-scrub"}, make("span", {class: "dsbd-name", text: say("ui.iteration")}),
        make("div", {class: "dsbd-track"}, p.iterations), p.iterationCount));
  }

  /* Colours of states as variables, so that text, gauges and legend follow the theme with the drawing. */
  colorize() {
    for (const state of Object.keys(this.scene.styles)) this.root.style.setProperty(`--dsbd-${state}`, this.color(state));
    if (!this.parts) return;
    this.parts.legend.replaceChildren(...LEGEND.map((state) =>
      make("li", {}, symbol(this.scene.styles[state], this.color(state)), make("span", {text: this.say(`state.${state}`)}))));
  }

  /* ---- moving ----------------------------------------------------------------------------- */

  go(step) { this.pause(); this.goto({step}); }

  /* One step on or back, over the edge of an iteration; false at either end. */
  move(by, playing = false) {
    if (!playing) this.pause();
    const step = this.step + by;
    if (step >= 0 && step < this.now.steps.length) { this.goto({step}); return true; }
    const it = this.it + by;
    if (it < 0 || it >= this.scene.iterations.length) return false;
    this.goto({it, step: by > 0 ? 0 : Infinity});
    return true;
  }

  play() {
    clearInterval(this.timer);
    this.timer = setInterval(() => this.move(1, true) || this.pause(), PLAY_MS / this.speed);
    this.showPlaying(true);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }

  showPlaying(playing) {
    if (!this.parts || !this.scene) return;
    const name = this.say(playing ? "ui.pause" : "ui.play");
    this.parts.play.replaceChildren(glyph(playing ? "pause" : "play"));
    this.parts.play.setAttribute("aria-label", name);
    this.parts.play.title = name;
    // A reader of the screen would be talked over by a sentence a second.
    this.parts.sentence.setAttribute("aria-live", playing ? "off" : "polite");
  }

  onKey(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !this.scene?.iterations.length) return;
    const on = event.target;
    if (/^(SELECT|TEXTAREA)$/.test(on.tagName) || (on.tagName === "INPUT" && event.key !== " ")) return;
    if (event.key === " " && /^(BUTTON|SUMMARY)$/.test(on.tagName)) return;
    const acts = {
      ArrowLeft: () => this.move(-1), ArrowRight: () => this.move(1), Home: () => this.go(0), End: () => this.go(Infinity),
      PageUp: () => { this.pause(); this.goto({it: this.it - 1, step: 0}); },
      PageDown: () => { this.pause(); this.goto({it: this.it + 1, step: 0}); },
      " ": () => this.timer ? this.pause() : this.play(),
      Escape: () => { this.pinned = -1; this.drawForest(); this.drawCard(); },
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  /* ---- rendering -------------------------------------------------------------------------- */

  /* The look of every node at this step; undefined for nodes that are not there yet. */
  looks() {
    const looks = [];
    for (const step of this.now.steps.slice(0, this.step + 1)) for (const change of step.changes) looks[change.node] = change;
    return looks;
  }

  render() {
    const p = this.parts, step = this.now.steps[this.step], count = this.now.steps.length;
    const changed = this.drawn !== this.it;
    if (changed) { this.pinned = -1; this.drawPhases(); this.buildTree(); }
    p.steps.max = count - 1;
    p.steps.value = this.step;
    p.steps.setAttribute("aria-valuetext", step.sentence);
    p.iterations.max = this.scene.iterations.length - 1;
    p.iterations.value = this.it;
    p.stepCount.textContent = this.say("ui.of", {current: this.step + 1, count});
    p.iterationCount.textContent = this.say("ui.of", {current: this.it + 1, count: this.scene.iterations.length});
    p.chip.textContent = this.say(`phase.${step.phase}`);
    p.sentence.textContent = step.sentence;
    for (const part of p.phases.children) {
      part.classList.toggle("dsbd-current", this.step >= part.dataset.from && this.step <= part.dataset.to);
    }
    this.drawn = this.it;
    this.look = this.looks();
    this.drawForest();
    this.drawCard();
    this.drawText();
    this.drawLayers();
    this.updateTree();
    this.bringIntoView(step, changed);
  }

  /* The bar below the step slider: one segment per phase and layer, as long as its steps. */
  drawPhases() {
    const parts = [];
    this.now.steps.forEach((step, at) => {
      const verify = ["width", "trial", "draw", "layer"].includes(step.phase);
      const name = verify ? String(step.layer) : this.say(`phase.${step.phase}`);
      const last = parts[parts.length - 1];
      if (last && last.name === name) last.to = at;
      else parts.push({name, from: at, to: at});
    });
    this.parts.phases.replaceChildren(...parts.map((part) => {
      const node = make("span", {text: part.name, "data-from": part.from, "data-to": part.to});
      node.style.flexGrow = part.to - part.from + 1;
      return node;
    }));
    for (const node of this.parts.phases.children) if (node.scrollWidth > node.clientWidth) node.textContent = "";
  }

  drawForest() {
    const {plot, scroller} = this.parts;
    if (!this.Plotly) { plot.textContent = this.say("ui.no_plotly"); scroller.removeAttribute("role"); return; }
    if (plot._dragging) {  // a drawing replaced under a drag would end the drag
      clearTimeout(this.later);
      this.later = setTimeout(() => this.scene?.iterations.length && this.drawForest(), DRAG_MS);
      return;
    }
    const figure = forestFigure(this);
    this.root.style.setProperty("--dsbd-height", `${this.geometry.height}px`);
    const fine = globalThis.matchMedia("(pointer: fine)").matches;
    figure.layout.dragmode = fine ? "zoom" : false;  // a finger scrolls the page
    const drawn = this.Plotly.react(plot, figure.data, figure.layout,
      {displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: "reset"});
    if (!this.listening) {
      this.listening = true;
      Promise.resolve(drawn).then(() => this.listen(plot));
    }
  }

  listen(plot) {
    const placeOf = (event) => event.points?.[0]?.customdata;
    plot.on("plotly_hover", (event) => { const at = placeOf(event); if (at >= 0) { this.hovered = at; this.drawCard(); } });
    plot.on("plotly_unhover", () => { this.hovered = -1; this.drawCard(); });
    plot.on("plotly_click", (event) => { const at = placeOf(event); if (at >= 0) this.pin(at === this.pinned ? -1 : at); });
  }

  pin(place) {
    this.pinned = place;
    this.drawForest();
    this.drawCard();
    if (place >= 0) this.options.onselect?.({it: this.it, step: this.step, node: this.now.nodes[place].id});
  }

  /* Scrolls the drawing, never the page, to what the step is about. */
  bringIntoView(step, changed) {
    const {scroller} = this.parts, geometry = this.geometry;
    if (!geometry) return;
    const column = step.focus >= 0 ? this.now.nodes[step.focus].column : step.layer;
    const x = geometry.left + (column + 0.45) * geometry.pitch;
    const calm = globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const to = {left: clamp(x - scroller.clientWidth / 2, 0, geometry.width), behavior: calm || changed ? "auto" : "smooth"};
    const y = BAND + (this.rowOf(step) + 0.8) * geometry.row;
    if (y < scroller.scrollTop + 40 || y > scroller.scrollTop + scroller.clientHeight - 40) to.top = Math.max(0, y - scroller.clientHeight / 2);
    scroller.scrollTo(to);
  }

  /* The row to look at: that of the node, else of the likeliest beam the layer yielded, else of the first input beam. */
  rowOf(step) {
    if (step.focus >= 0) return this.now.nodes[step.focus].row;
    const settled = this.now.nodes.filter((node, at) => this.look[at]?.slots && (step.phase === "commit" ? node.kept : node.column === step.layer));
    const best = settled.sort((one, other) => other.column - one.column || (other.target_prob ?? 0) - (one.target_prob ?? 0))[0];
    return (best || this.now.nodes[0])?.row ?? 0;
  }

  resetView() {
    if (!this.Plotly) return;
    this.view = (this.view || 0) + 1;  // another uirevision: Plotly forgets the zoom
    this.drawForest();
  }

  saveSvg() {
    const {width, height} = this.geometry || {};
    const name = `dsbd-iteration-${this.now.index}`;
    this.Plotly?.downloadImage(this.parts.plot, {format: "svg", filename: name, width, height});
  }

  /* ---- card ------------------------------------------------------------------------------- */

  drawCard() {
    const step = this.now.steps[this.step];
    const place = this.hovered >= 0 ? this.hovered : this.pinned >= 0 ? this.pinned : step.focus;
    const card = this.parts.card;
    if (place >= 0 && this.look[place]) card.replaceChildren(...this.nodeCard(place));
    else if (step.layer && step.phase !== "draft") card.replaceChildren(...this.layerCard(step.layer));
    else if (step.phase === "commit") card.replaceChildren(...this.commitCard());
    else card.replaceChildren(make("p", {class: "dsbd-hint", text: this.say("ui.node_hint")}));
    card.scrollTop = 0;
  }

  nodeCard(place) {
    const node = this.now.nodes[place], look = this.look[place], scored = this.step >= this.now.scored_step;
    const state = this.say(`state.${look.state}`);
    const mark = make("span", {class: "dsbd-state"}, symbol(this.scene.styles[look.state], this.color(look.state)), state);
    if (look.slots > 1) mark.append(` ${this.say("node.multiplicity", {count: look.slots})}`);
    if (look.landed) mark.append(` · ${this.say("state.landed")}`);
    const rows = [];
    if (node.draft_prob !== null) rows.push(this.bar("ui.draft", node.draft_prob, "draft"));
    if (node.target_prob !== null && scored) rows.push(this.bar("ui.target", node.target_prob, "target"));
    const small = [];
    const fact = (key, value) => { if (value !== null) small.push(`${this.say(key)} ${typeof value === "number" ? number(value) : value}`); };
    if (scored) fact("ui.target_log_prob", node.target_log_prob);
    fact("ui.draft_log_prob", node.draft_log_prob);
    fact("ui.log_weight", node.log_weight);
    if (node.token_id !== null) small.push(`${this.say("ui.token")} ${node.token_id}`);
    if (node.ends) small.push(this.say("node.ends"));
    const facts = node.facts.filter((entry) => entry.step <= this.step).map((entry) => this.factItem(entry)).reverse();
    return [make("bdi", {class: "dsbd-token", text: node.token}), mark, make("p", {class: "dsbd-path", dir: "auto", text: this.said(place)}),
      ...rows, make("ul", {class: "dsbd-facts"}, ...facts), make("p", {class: "dsbd-small", text: small.join(" · ")})];
  }

  commitCard() {
    const seconds = this.now.seconds, total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
    const rows = Object.entries(seconds).map(([phase, value]) => {
      const fill = make("i", {class: "dsbd-fill dsbd-target"});
      fill.style.width = `${total ? 100 * value / total : 0}%`;
      return make("div", {class: "dsbd-bar"}, make("span", {text: this.say(`phase.${phase}`)}), make("div", {class: "dsbd-rail"}, fill),
        make("b", {text: `${(1000 * value).toFixed(1)} ms`}));
    });
    return [make("span", {class: "dsbd-token dsbd-plain", text: this.say("figure.timeline")}), ...rows];
  }

  /* The end of the running text up to a node. */
  said(place) {
    const nodes = this.now.nodes;
    let text = "";
    for (let at = place; at >= 0; at = nodes[at].parent) text = nodes[at].adds + text;
    const characters = [...text];
    return `${characters.length > 48 ? "…" : ""}${characters.slice(-48).join("")}${nodes[place].pending}`;
  }

  bar(key, value, kind) {
    const fill = make("i", {class: `dsbd-fill dsbd-${kind}`});
    fill.style.width = `${100 * clamp(value, 0, 1)}%`;
    return make("div", {class: "dsbd-bar"}, make("span", {text: this.say(key)}), make("div", {class: "dsbd-rail"}, fill), make("b", {text: number(value)}));
  }

  factItem(fact) {
    const item = make("li", {}, make("span", {class: "dsbd-fact-title", text: fact.title}), make("p", {text: fact.sentence}));
    if (fact.step === this.step) item.classList.add("dsbd-current");
    if (fact.u !== null) item.append(this.gauge(fact));
    if (fact.detail) item.append(make("p", {class: "dsbd-detail", text: fact.detail}));
    return item;
  }

  /* 0 to 1, the interval that decides, and the random number as a tick. */
  gauge({low, high, u, state}) {
    const range = make("i", {class: "dsbd-range"}), tick = make("i", {class: "dsbd-tick"});
    range.style.left = `${100 * low}%`;
    range.style.width = `${100 * Math.max(high - low, 0.004)}%`;
    range.style.background = this.color(state === "rejected" ? "accepted" : state);
    tick.style.left = `${100 * u}%`;
    return make("div", {class: "dsbd-gauge", "aria-hidden": "true"}, range, tick);
  }

  layerCard(number_) {
    const layer = this.now.layers.find((entry) => entry.layer === number_);
    if (!layer) return [];
    const rows = layer.at_least.map((value, at) => {
      const row = make("div", {class: `dsbd-bar${at + 1 <= layer.width ? " dsbd-chosen" : ""}`}, make("span", {text: `≥ ${at + 1}`}));
      const fill = make("i", {class: "dsbd-fill"}), rail = make("div", {class: "dsbd-rail"}, fill);
      fill.style.width = `${100 * value}%`;
      if (layer.threshold !== null) {
        const tick = make("i", {class: "dsbd-threshold"});
        tick.style.left = `${100 * layer.threshold}%`;
        rail.append(tick);
      }
      row.append(rail, make("b", {text: number(value)}));
      return row;
    });
    const head = [make("span", {class: "dsbd-token dsbd-plain", text: layer.title}), make("p", {text: layer.reason})];
    if (rows.length) head.push(make("p", {class: "dsbd-fact-title", text: this.say("layer.at_least")}));
    return [...head, ...rows, ...this.alternatives(layer)];
  }

  alternatives(layer) {
    if (!layer.alternatives.length) return [];
    const rows = layer.alternatives.map((pair) => {
      const fill = make("i", {class: "dsbd-fill dsbd-target"}), draft = make("i", {class: "dsbd-tick"});
      fill.style.width = `${100 * clamp(pair.target_prob, 0, 1)}%`;
      draft.style.left = `${100 * clamp(pair.draft_prob, 0, 1)}%`;
      const name = make("bdi", {class: "dsbd-pair", text: `${pair.parent ? `${pair.parent} → ` : ""}${pair.token}`});
      return make("div", {class: "dsbd-bar dsbd-wide"}, name, make("div", {class: "dsbd-rail"}, fill, draft), make("b", {text: number(pair.target_prob)}));
    });
    return [make("p", {class: "dsbd-fact-title", text: this.say("ui.alternatives")}), ...rows];
  }

  /* ---- text, layers, statistics ------------------------------------------------------------ */

  drawText() {
    const after = this.step === this.now.steps.length - 1;
    const beams = after ? this.now.beams_after : this.now.beams_before;
    const paths = beams.map((beam) => this.path(beam.node));
    const fresh = new Set(this.now.nodes.filter((node) => node.column > 0).map((node) => node.id));
    const best = paths[0] || [];
    const lines = beams.map((beam, at) => {
      const path = paths[at];
      let shared = 0;
      if (at) while (shared < path.length - 1 && shared < best.length && path[shared] === best[shared]) shared++;
      const line = make("p", {class: at ? "dsbd-line" : "dsbd-line dsbd-best", dir: "auto"});
      if (!shared) line.append(make("span", {class: "dsbd-origin-prompt", text: this.scene.prompt.join("")}));
      else line.append(make("span", {class: "dsbd-origin-prompt", text: "…"}));
      path.slice(shared).forEach((token, index) => {
        const last = shared + index === path.length - 1;
        const text = token.text + (last ? token.pending : "");
        const span = make("span", {class: `dsbd-origin dsbd-origin-${token.origin}`, title: this.say(`state.${token.origin}`), text});
        if (after && fresh.has(token.id)) span.classList.add("dsbd-new");
        line.append(span);
      });
      const notes = [beam.multiplicity > 1 ? this.say("node.multiplicity", {count: beam.multiplicity}) : "",
        `${this.say("ui.log_weight")} ${number(beam.log_weight)}`, beam.finished ? this.say("ui.finished_beams") : ""];
      return make("div", {class: "dsbd-beam"}, line, make("small", {text: notes.filter(Boolean).join(" · ")}));
    });
    if (!lines.length) lines.push(make("p", {class: "dsbd-hint", text: this.say("text.empty")}));
    const caption = make("p", {class: "dsbd-fact-title", text: this.say(after ? "ui.output_beams" : "ui.input_beams")});
    this.parts.text.replaceChildren(caption, ...lines);
  }

  path(node) {
    if (this.tokenSource !== this.scene.tokens) {
      this.tokenSource = this.scene.tokens;
      this.tokens = new Map(records(this.scene.tokens.fields, this.scene.tokens.rows).map((token) => [token.id, token]));
    }
    const path = [];
    for (let token = this.tokens.get(node); token; token = this.tokens.get(token.parent)) path.push(token);
    return path.reverse();
  }

  drawLayers() {
    this.parts.layers.replaceChildren(...this.now.layers.filter((layer) => layer.step <= this.step).map((layer) => {
      const done = this.now.steps.some((step, at) => at <= this.step && step.phase === "layer" && step.layer === layer.layer);
      return make("li", {}, make("b", {text: layer.title}), ` — ${layer.reason}${done ? `; ${layer.outcome_sentence}` : ""}`);
    }));
  }

  drawResult() {
    this.parts.result.parentElement.hidden = !this.scene.result.length;
    this.parts.result.replaceChildren(...this.scene.result.map((beam) => {
      const notes = [`${this.say("ui.score")} ${number(beam.score)}`, `${this.say("ui.log_weight")} ${number(beam.log_weight)}`,
        beam.finished ? this.say("ui.finished_beams") : ""];
      return make("li", {class: "dsbd-beam"}, make("p", {class: "dsbd-line", dir: "auto", text: beam.text}),
        make("small", {text: notes.filter(Boolean).join(" · ")}));
    }));
  }

  drawStats() {
    const wanted = ["iterations", "layers", "layers_per_iteration", "mean_width", "acceptance_rate", "accepted", "rejected",
      "orphaned", "unneeded", "recovered", "fresh", "bonus", "landed", "seconds"];
    this.parts.stats.replaceChildren(...wanted.map((name) => {
      const value = this.scene.statistics[name];
      const text = Number.isInteger(value) ? String(value) : number(value);
      return make("div", {}, make("dt", {text: this.say(`stat.${name}`)}), make("dd", {text}));
    }));
  }

  /* ---- the forest as a list ----------------------------------------------------------------- */

  buildTree() {
    const items = this.treeItems = [], children = this.now.nodes.map(() => []), roots = [];
    this.now.nodes.forEach((node, at) => (node.parent < 0 ? roots : children[node.parent]).push(at));
    const item = (at, level) => {
      const label = make("span");
      const entry = items[at] = make("li", {role: "treeitem", tabindex: "-1", "aria-level": level}, label);
      entry.label = label;
      entry.addEventListener("click", (event) => { event.stopPropagation(); this.focusTree(at); });
      if (children[at].length) {
        entry.setAttribute("aria-expanded", "true");
        entry.append(make("ul", {role: "group"}, ...children[at].map((child) => item(child, level + 1))));
      }
      return entry;
    };
    this.parts.tree.replaceChildren(...roots.map((at) => item(at, 1)));
    if (roots.length) items[roots[0]].tabIndex = 0;
  }

  updateTree() {
    const scored = this.step >= this.now.scored_step;
    this.now.nodes.forEach((node, at) => {
      const look = this.look[at], entry = this.treeItems[at];
      entry.hidden = !look;
      if (!look) return;
      const said = [this.say("node.aria", {token: node.token, state: this.say(`state.${look.state}`)})];
      if (look.slots > 1) said.push(this.say("node.multiplicity", {count: look.slots}));
      if (look.landed) said.push(this.say("state.landed"));
      if (scored && node.target_prob !== null) said.push(`${this.say("ui.target")} ${number(node.target_prob)}`);
      if (node.draft_prob !== null) said.push(`${this.say("ui.draft")} ${number(node.draft_prob)}`);
      entry.label.textContent = said.join(", ");
      entry.label.style.setProperty("--dsbd-mark", this.color(look.state));
    });
  }

  focusTree(at) {
    this.treeItems.forEach((entry, place) => { entry.tabIndex = place === at ? 0 : -1; });
    this.treeItems[at].focus();
    this.pin(at);
  }

  onTreeKey(event) {
    const shown = [...this.parts.tree.querySelectorAll("[role=treeitem]")].filter((entry) => entry.offsetParent !== null);
    const at = shown.indexOf(event.target.closest("[role=treeitem]"));
    if (at < 0) return;
    const here = shown[at], open = here.getAttribute("aria-expanded");
    const to = (entry) => { if (entry) this.focusTree(this.treeItems.indexOf(entry)); };
    const acts = {
      ArrowDown: () => to(shown[at + 1]), ArrowUp: () => to(shown[at - 1]), Home: () => to(shown[0]), End: () => to(shown[shown.length - 1]),
      ArrowRight: () => open === "false" ? here.setAttribute("aria-expanded", "true") : open && to(shown[at + 1]),
      ArrowLeft: () => open === "true" ? here.setAttribute("aria-expanded", "false") : to(here.parentElement.closest("[role=treeitem]")),
      Enter: () => to(here),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }
}

/* ---- the drawing ------------------------------------------------------------------------------ */

/* Pixels of the drawing: columns and rows keep their size, whatever the step. */
function measure(viewer) {
  const {now, parts} = viewer, room = parts.scroller.clientWidth || 800;
  const least = room < 560 ? PITCH_NARROW : PITCH;
  const left = 18, last = Math.max(now.columns, 1);
  const pitch = Math.max(least, Math.min((room - left - 8) / (last + 0.92), 236));
  const row = clamp(430 / (now.rows + 1.6), 23, 38);
  const width = Math.max(Math.floor(left + (last + 0.92) * pitch), Math.min(room, 320));
  return {left, pitch, row, width, height: Math.ceil(BAND + (now.rows + 1.6) * row + 6), last};
}

function forestFigure(viewer) {
  const geometry = viewer.geometry = measure(viewer), {now} = viewer;
  const css = getComputedStyle(viewer.root);
  const soft = css.getPropertyValue("--dsbd-soft").trim();
  const ink = css.getPropertyValue("--dsbd-ink").trim(), faint = css.getPropertyValue("--dsbd-faint").trim();
  const band = css.getPropertyValue("--dsbd-band").trim(), accent = css.getPropertyValue("--dsbd-accent").trim();
  const step = now.steps[viewer.step];
  const data = [...edgeTraces(viewer, geometry), ringTrace(viewer, ink, accent), nodeTrace(viewer, ink, faint), widthTrace(viewer, accent, faint)];
  const hidden = {visible: false, fixedrange: false};
  const layout = {
    width: geometry.width, height: geometry.height, margin: {l: 0, r: 0, t: 34, b: 0}, showlegend: false, hovermode: "closest", hoverdistance: 14,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {family: css.fontFamily, color: ink, size: 12},
    uirevision: `${viewer.decode}:${viewer.it}:${viewer.view || 0}`,
    xaxis: {...hidden, range: [-geometry.left / geometry.pitch, (geometry.width - geometry.left) / geometry.pitch], anchor: "free"},
    yaxis: {...hidden, range: [now.rows + 0.8, -0.8], domain: [0, (geometry.height - BAND) / (geometry.height - 34)]},
    yaxis2: {...hidden, fixedrange: true, range: [0, 1.12], domain: [(geometry.height - BAND + 16) / (geometry.height - 34), 1]},
    shapes: layerShapes(viewer, step, band, faint), annotations: layerTitles(viewer, step, ink, soft),
  };
  return {data, layout};
}

function dimmed(viewer, place) {
  const committed = viewer.now.steps[viewer.step].phase === "commit";
  return committed && !viewer.now.nodes[place].kept;
}

/* Edges by style, one trace each, with gaps between them: a trace per edge would be four times slower. */
function edgeTraces(viewer, geometry) {
  const {now, look} = viewer, groups = new Map();
  now.nodes.forEach((node, at) => {
    if (node.parent < 0 || !look[at]) return;
    const weak = dimmed(viewer, at), key = `${look[at].state}${weak ? " dim" : ""}`;
    if (!groups.has(key)) groups.set(key, {state: look[at].state, weak, x: [], y: []});
    const group = groups.get(key), parent = now.nodes[node.parent];
    const slots = look[node.parent]?.slots > 1 ? 3 : 0;
    const out = parent.column + (LABEL_GAP + (parent.columns + slots) * GLYPH + 7) / geometry.pitch;
    const bend = parent.column + BEND, end = node.column - 11 / geometry.pitch;
    if (out < bend) { group.x.push(out); group.y.push(parent.row); }
    const start = Math.max(out, bend);
    for (let part = 0; part <= 10; part++) {
      const t = part / 10, ease = t * t * (3 - 2 * t);
      group.x.push(start + (end - start) * t);
      group.y.push(parent.row + (node.row - parent.row) * ease);
    }
    group.x.push(null);
    group.y.push(null);
  });
  return [...groups.values()].map(({state, weak, x, y}) => {
    const style = viewer.scene.styles[state], strong = YIELDED.includes(state);
    return {type: "scatter", mode: "lines", x, y, hoverinfo: "skip",
      line: {color: viewer.color(state), width: strong ? 2.4 : state === "cover" ? 0.9 : 1.2, dash: style.dash}, opacity: strong ? (weak ? 0.22 : 1) : weak ? 0.18 : state === "cover" ? 0.4 : 0.65};
  });
}

function nodeTrace(viewer, ink, faint) {
  const {now, look, scene} = viewer, scored = viewer.step >= now.scored_step;
  const trace = {type: "scatter", mode: "markers+text", x: [], y: [], text: [], customdata: [], hoverinfo: "none", cliponaxis: false,
    textposition: "middle right", textfont: {family: FONT, size: [], color: []},
    marker: {symbol: [], color: [], size: [], opacity: [], line: {width: [], color: []}}};
  now.nodes.forEach((node, at) => {
    const entry = look[at];
    if (!entry) return;
    const style = scene.styles[entry.state], color = viewer.color(entry.state), weak = dimmed(viewer, at);
    const probability = (scored ? node.target_prob : node.draft_prob) ?? 0.2;
    const settled = YIELDED.includes(entry.state) || entry.state === "input";
    trace.x.push(node.column);
    trace.y.push(node.row);
    trace.customdata.push(at);
    // Trailing marks follow the label's own direction unless isolated.
    trace.text.push(`\u2002${escaped(`\u2068${node.label}\u2069`)}${entry.slots > 1 ? ` ${viewer.say("node.multiplicity", {count: entry.slots})}` : ""}`);
    trace.textfont.size.push(entry.state === "cover" ? 10 : 12.5);
    trace.textfont.color.push(weak ? faint : settled ? ink : color);
    trace.marker.symbol.push(style.symbol);
    trace.marker.color.push(color);
    trace.marker.size.push(style.size * (0.85 + 0.35 * Math.sqrt(clamp(probability, 0, 1))));
    trace.marker.opacity.push(weak ? 0.3 : 1);
    trace.marker.line.width.push(style.filled ? 0 : 1.6);
    trace.marker.line.color.push(color);
  });
  return trace;
}

/* A ring around landed beams, and one around the node the step is about. */
function ringTrace(viewer, ink, accent) {
  const {now, look} = viewer, focus = viewer.pinned >= 0 ? viewer.pinned : now.steps[viewer.step].focus;
  const trace = {type: "scatter", mode: "markers", x: [], y: [], hoverinfo: "skip", cliponaxis: false,
    marker: {symbol: "circle-open", size: [], color: [], line: {width: []}}};
  now.nodes.forEach((node, at) => {
    if (!look[at]) return;
    const ring = (size, color, width) => {
      trace.x.push(node.column); trace.y.push(node.row);
      trace.marker.size.push(size); trace.marker.color.push(color); trace.marker.line.width.push(width);
    };
    if (look[at].landed) ring(20, dimmed(viewer, at) ? "rgba(128,128,128,.4)" : ink, 1.3);
    if (at === focus) ring(23, accent, 2);
  });
  return trace;
}

/* P(accepted >= k) over each layer whose width has been chosen; the bars up to the width stand out. */
function widthTrace(viewer, accent, faint) {
  const trace = {type: "bar", x: [], y: [], width: [], yaxis: "y2", hovertemplate: "%{text}<extra></extra>", text: [], textposition: "none",
    customdata: [], marker: {color: [], line: {width: 0}}};
  for (const layer of viewer.now.layers) {
    if (layer.step > viewer.step) continue;
    const count = layer.at_least.length, span = Math.min(0.62, 0.1 * count), each = span / Math.max(count, 1);
    layer.at_least.forEach((value, at) => {
      trace.x.push(layer.layer - 0.04 + each * (at + 0.5));
      trace.y.push(Math.max(value, 0.012));
      trace.width.push(each * 0.72);
      trace.customdata.push(-1);
      trace.text.push(escaped(viewer.say("ui.at_least", {k: at + 1, value: number(value)})));
      trace.marker.color.push(at + 1 <= layer.width ? accent : faint);
    });
  }
  return trace;
}

function layerShapes(viewer, step, band, faint) {
  const shapes = [];
  for (let column = 1; column <= viewer.now.columns; column++) {
    const current = step.layer === column;
    shapes.push({type: "rect", layer: "below", x0: column - 0.12, x1: column + 0.84, yref: "paper", y0: 0, y1: 1.6,
      fillcolor: band, opacity: current ? 1 : 0.42, line: {width: 0}});
  }
  for (const layer of viewer.now.layers) {
    if (layer.step > viewer.step || layer.threshold === null) continue;
    const span = Math.min(0.62, 0.1 * layer.at_least.length);
    shapes.push({type: "line", x0: layer.layer - 0.05, x1: layer.layer - 0.03 + span, yref: "y2", y0: layer.threshold, y1: layer.threshold,
      line: {color: faint, width: 1, dash: "dot"}});
  }
  return shapes;
}

function layerTitles(viewer, step, ink, soft) {
  const {now} = viewer, titles = [];
  for (let column = 1; column <= now.columns; column++) {
    const layer = now.layers.find((entry) => entry.layer === column), chosen = layer && layer.step <= viewer.step;
    const title = layer && chosen ? layer.title : viewer.say("layer.title", {layer: column});
    titles.push({x: column - 0.06, xref: "x", y: 1, yref: "paper", yshift: 12, xanchor: "left", yanchor: "bottom", showarrow: false, align: "left",
      text: `<b>${escaped(title)}</b>`, font: {size: 12.5, color: step.layer === column ? ink : soft}});
    if (!chosen) continue;
    const below = viewer.geometry.pitch < PITCH ? viewer.say("width.given", {width: layer.width}) : layer.caption;
    titles.push({x: column - 0.06, xref: "x", y: 1, yref: "paper", yshift: -4, xanchor: "left", yanchor: "bottom", showarrow: false, align: "left",
      text: escaped(below), font: {size: 11, color: ink}});
  }
  return titles;
}
