/* The forest of one iteration as SVG: built once; a step changes only what it is about. Layers are columns on wide
 * pages; on narrow ones every node has a row, indented by its layer. Sizes do not depend on the step.
 * Numbers that Python's drawings use too are in theme.json; visualize/theme.py says what they are. */

import {YIELDED, calm, clamp, draw, make, marked, indexAt, set} from "./dom.js";
import {columnsOf} from "./tokens.js";
import theme from "../theme.json" with {type: "json"};

const {sizes} = theme;

const CONTROLS = 56; // pixels of the line with the buttons
const LEAST_ROOM = 200;
const MORPH_MS = 600;
const BARS = {top: 40, height: 32};
const LETTER = 7.2; // pixels of a letter of a title
const LEFT = 8; // pixels between the edge of a band and what stands in it

export class Forest {
  constructor(viewer) {
    this.viewer = viewer;
    this.head = draw("svg", {class: "dsbd-head-bands", "aria-hidden": "true"});
    this.widths = make("ul", {class: "dsbd-widths", tabindex: "0"});
    this.body = draw("svg", {class: "dsbd-forest", role: "img"});
    const sheet = make("div", {class: "dsbd-sheet"}, this.body);
    this.element = make("div", {class: "dsbd-scroller", tabindex: "0"}, this.head, this.widths, sheet);
    const {body} = this;
    body.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") viewer.hover(indexAt(event));
    });
    body.addEventListener("pointerleave", () => viewer.hover(-1));
    body.addEventListener("click", (event) => {
      const at = indexAt(event);
      if (at >= 0) viewer.pin(at === viewer.pinned ? -1 : at);
    });
  }

  build() {
    const {viewer, body} = this;
    const {now} = viewer;
    for (const node of now.nodes) node.label_columns = columnsOf(viewer.labelOf(node)); // some are no tokens
    const geometry = (this.geometry = measure(now, this.element));
    body.dataset.column = geometry.pitch;
    this.bands = Array.from({length: now.last_column}, (_, at) =>
      draw("rect", {class: "dsbd-layer", rx: 3, ...geometry.band(at + 1)}),
    );
    this.edges = now.nodes.map((node) => (node.parent < 0 ? null : draw("path", {class: "dsbd-edge", hidden: ""})));
    this.marks = now.nodes.map((node, at) => this.node(node, at));
    this.ring = draw("circle", {class: "dsbd-focus", r: 11.5, hidden: ""});
    body.replaceChildren(
      ...this.bands,
      draw("g", {}, ...this.edges.filter(Boolean)),
      this.ring,
      draw("g", {}, ...this.marks.map((entry) => entry.group)),
    );
    const {width, height, upright, head} = geometry;
    const fits = (_, at) => LETTER * [...titlesOf(at + 1, viewer)[0]].length <= geometry.band(at + 1).width - LEFT;
    this.titles = this.bands.every(fits) ? 0 : 1; // the same for all layers
    set(body, {viewBox: `0 0 ${width} ${height}`, width, height});
    set(this.head, {viewBox: `0 0 ${width} ${head}`, width, height: head});
    this.element.scrollTo(0, 0);
    this.head.toggleAttribute("hidden", upright);
    this.widths.hidden = !upright || !now.layers.some(({chances}) => chances.length); // else they say one number
    this.fit();
  }

  /* Where each node stands, with the text that leads to it. */
  places() {
    const {now, scene} = this.viewer;
    const texts = [];
    now.nodes.forEach(({parent, id, token}, at) => {
      const begun = parent < 0 ? scene.path(id).map(({text}) => text) : [texts[parent], token.replace("␣", " ")];
      texts[at] = begun.join("");
    });
    return texts.map((text, at) => [
      `${now.before + now.nodes[at].column} ${text}`,
      this.marks[at].group.getAttribute("transform").replace(/[\d.-]+/g, "$&px"),
    ]);
  }

  /* Moves what also stood in another forest from its place there; all else appears. */
  morph(places) {
    if (calm()) return;
    const before = new Map(places);
    const timing = {duration: MORPH_MS, easing: "ease-in-out"};
    this.places().forEach(([text, to], at) => {
      const from = before.get(text);
      const frames = from ? [{transform: from}, {transform: to}] : [{opacity: 0}, {opacity: 1}];
      this.marks[at].group.animate(frames, timing);
      if (from !== to) this.edges[at]?.animate([{opacity: 0}, {opacity: 0}, {}], timing);
    });
  }

  /* On a narrow page the controls stay at the lower edge of the screen: the forest ends above them. */
  fit() {
    const {element} = this;
    const top = element.getBoundingClientRect().top + globalThis.scrollY;
    const room = Math.floor(globalThis.innerHeight - top - CONTROLS);
    element.style.maxHeight = this.geometry.upright && room >= LEAST_ROOM ? `${room}px` : "";
  }

  node(node, at) {
    const {x, y} = this.geometry.at(node);
    const shape = draw("path");
    const text = draw("text", {class: "dsbd-label", x: sizes.label_gap, y: sizes.label_drop});
    const hit = draw("rect", {class: "dsbd-hit", x: -13, y: -12, width: 26 + 8 * node.label_columns, height: 24});
    const transform = `translate(${x.toFixed(1)},${y.toFixed(1)})`;
    const group = draw("g", {class: "dsbd-node", "data-at": at, transform, hidden: ""}, hit, shape, text);
    return {group, shape, text};
  }

  update() {
    const {viewer} = this;
    const {now, look} = viewer;
    const step = now.steps[viewer.step];
    const committed = step.phase === "commit";
    const scored = viewer.step >= now.scoredStep;
    now.nodes.forEach((node, at) => this.show(node, at, look[at], committed && !node.kept, scored));
    this.bands.forEach((band, at) => band.classList.toggle("dsbd-current", step.layer === at + 1));
    const focus = viewer.pinned >= 0 ? viewer.pinned : step.focus;
    this.ring.toggleAttribute("hidden", focus < 0 || !look[focus]);
    if (focus >= 0) {
      const {x, y} = this.geometry.at(now.nodes[focus]);
      set(this.ring, {cx: x, cy: y});
    }
    this.updateHead(step);
  }

  show(node, at, look, weak, scored) {
    const final = Boolean(look) && this.viewer.scene.becomes(node, look);
    const edge = this.edges[at];
    const {group, shape, text} = this.marks[at];
    group.toggleAttribute("hidden", !look);
    edge?.toggleAttribute("hidden", !look);
    if (!look) return;
    const {mark, style} = this.viewer.mark(look.state);
    const chance = clamp((scored ? node.target_prob : node.draft_prob) ?? sizes.unknown_probability, 0, 1);
    marked(shape, style, mark);
    const part = look.state === "cover" ? sizes.cover : 1;
    const size = style.size * part * (sizes.mark_least + sizes.mark_more * Math.sqrt(chance));
    shape.setAttribute("transform", `scale(${(size / 2).toFixed(2)})`);
    const settled = YIELDED.includes(look.state) || look.state === "input";
    const label = draw("tspan", {class: final ? "dsbd-final" : null, text: `\u2068${this.viewer.labelOf(node)}\u2069`});
    text.replaceChildren(label);
    if (look.multiplicity > 1) text.append(` ${this.viewer.say("node.multiplicity", {count: look.multiplicity})}`);
    text.style.fill = settled ? "var(--dsbd-ink)" : `var(--dsbd-${mark})`;
    text.classList.toggle("dsbd-small-label", ["cover", "undrawn"].includes(look.state));
    group.classList.toggle("dsbd-weak", weak);
    if (edge) this.showEdge(edge, node, look.state, weak, chance);
  }

  /* An edge begins behind its parent's label, which grows when more versions share the node. Likelier edges are
   * thicker; edges to the beams of a layer are thickest. */
  showEdge(edge, node, state, weak, chance) {
    const {viewer, geometry} = this;
    const multiplicity = viewer.look[node.parent]?.multiplicity ?? 0;
    edge.setAttribute("d", geometry.edge(viewer.now.nodes[node.parent], node, multiplicity));
    const {mark, style} = viewer.mark(state);
    const strong = YIELDED.includes(state);
    edge.style.stroke = `var(--dsbd-${mark})`;
    edge.style.strokeWidth = (strong ? 1.4 : 0.7) + (strong ? 2.4 : 1.8) * Math.sqrt(chance);
    edge.style.strokeDasharray = sizes.dashes[style.dash] || "none";
    edge.style.opacity = strong ? (weak ? 0.22 : 1) : weak ? 0.18 : state === "cover" ? 0.45 : 0.7;
  }

  updateHead(step) {
    const {viewer, geometry} = this;
    const layers = Array.from({length: viewer.now.last_column}, (_, at) => at + 1);
    const [element, headOf] = geometry.upright ? [this.widths, rowHead] : [this.head, columnHead];
    element.replaceChildren(...layers.map((layer) => headOf(layer, step.layer === layer, viewer, geometry)));
  }

  /* Scrolls the drawing, not the page, to the node of the step. */
  bringIntoView(index, layer, jump) {
    const {element, geometry} = this;
    const node = this.viewer.now.nodes[index];
    if (!geometry || !node) return;
    const at = geometry.at(node);
    const head = geometry.upright ? this.widths.offsetHeight : geometry.head;
    const column = geometry.upright ? at.x : geometry.at({column: layer || node.column, row: node.row}).x;
    const x = column + (geometry.upright ? 0 : 0.45 * geometry.pitch);
    const y = at.y + head;
    /** @type {ScrollToOptions} */ const to = {behavior: calm() || jump ? "auto" : "smooth"};
    const hidden = (value, start, size, from) => value < start + from + 30 || value > start + size - 60;
    if (hidden(x, element.scrollLeft, element.clientWidth, 0)) to.left = Math.max(0, x - element.clientWidth / 2);
    if (hidden(y, element.scrollTop, element.clientHeight, head)) {
      to.top = Math.max(0, y - element.clientHeight / 2);
    }
    if (to.left !== undefined || to.top !== undefined) element.scrollTo(to);
  }
}

/* The layer of this number if its width is known at this step, else null. */
function layerNow(number, {now, step}) {
  const layer = now.layer(number);
  return layer && layer.step <= step ? layer : null;
}

/* The title of a layer and its width, where every node has a row of its own. */
function rowHead(number, current, viewer) {
  const {now, say, words} = viewer;
  const layer = layerNow(number, viewer);
  const title = make("b", {text: titlesOf(number, viewer)[1]});
  const width = layer ? say("head.width", {width: layer.width}) : "–";
  const kind = current ? "dsbd-current" : null;
  return make("li", {class: kind, title: words.columnTitle(number, now.before)}, title, width);
}

/* The name of a layer and the place of its tokens in the text, and without it where there is little room. */
function titlesOf(number, {words, now, say}) {
  return [words.columnTitle(number, now.before), say("layer.title", {layer: number})];
}

/* What is known of a layer at this step, above the forest: its title, its width, and its bars. */
function columnHead(number, current, viewer, geometry) {
  const {x, width} = geometry.band(number);
  const layer = layerNow(number, viewer);
  const title = titlesOf(number, viewer)[viewer.forest.titles];
  const line = (y, text, kind) => draw("text", {x: x + LEFT, y, class: `dsbd-head-${kind}`, text});
  const parts = [
    draw("rect", {class: `dsbd-layer${current ? " dsbd-current" : ""}`, x, y: 2, width, height: 96, rx: 3}),
    line(17, title, "title"),
  ];
  if (layer) {
    parts.push(
      draw("title", {text: viewer.words.width(layer, viewer.scene.settings)}),
      line(32, viewer.say("head.width", {width: layer.width}), "width"),
      ...bars(layer, x + LEFT, width - 2 * LEFT - 4, viewer),
    );
  }
  return draw("g", {}, ...parts);
}

/* P(accepted >= k) as bars against the threshold. */
function bars(layer, left, room, viewer) {
  const each = Math.min(15, room / Math.max(layer.chances.length, 1));
  const {top, height} = BARS;
  const threshold = viewer.scene.settings.width_threshold;
  const parts = layer.chances.map((value, at) =>
    draw("rect", {
      class: at < layer.width ? "dsbd-bar-chosen" : "dsbd-bar-left",
      x: left + at * each,
      width: each * sizes.bar,
      y: top + height * (1 - value),
      height: Math.max(height * value, 0.8),
    }),
  );
  const line = `M${left - 4},${top + height * (1 - threshold)}h${each * layer.chances.length + 6}`;
  if (parts.length) parts.push(draw("path", {class: "dsbd-threshold-line", d: line}));
  return parts;
}

/* ---- where everything stands, in pixels ------------------------------------------------------------------------- */

const HEAD = {plain: 40, bars: 80}; // above columns: title, width, and bars where the width is chosen
const NARROW = [420, 500]; // below the first every node has a row; below the second where columns do not fit
const PITCH = [78, 236]; // pixels of a column, least and most
const SLACK = 14; // pixels of a column that it can spare
const ROW = [15, 21, 32]; // pixels per row: least where there is little height, least, most
const TALL = 320; // pixels of height that rows share out
const INDENT = 30; // pixels per layer where every node has a row
const LINE = 27; // pixels per node there

function measure(iteration, element) {
  const [always, perhaps] = NARROW;
  const room = element.clientWidth || 800;
  const head = HEAD[iteration.layers.some(({chances}) => chances.length) ? "bars" : "plain"];
  const tall = Math.min(TALL, (parseFloat(getComputedStyle(element).maxHeight) || Infinity) - head - 6);
  const wide = {head, ...columns(iteration, room, tall)};
  return room < always || (room < perhaps && wide.width > room) ? outline(iteration, room) : wide;
}

/* The pixels that each column needs for its longest label, from that of the input beams on. */
function leastPitches({nodes, last_column}) {
  const longest = Array(Math.max(last_column, 1) + 1).fill(0);
  for (const {column, label_columns} of nodes) longest[column] = Math.max(longest[column], label_columns);
  const around = sizes.label_gap + sizes.label_end + sizes.mark_gap + sizes.count_columns * sizes.glyph + SLACK;
  return longest.map((letters) => Math.ceil(Math.max(PITCH[0], around + letters * sizes.glyph)));
}

function columns(iteration, room, tall) {
  const left = 18;
  const least = leastPitches(iteration);
  const needed = least.reduce((sum, one) => sum + one, 0);
  const more = Math.max(-SLACK, (room - left - 8 - needed) / least.length);
  const pitches = least.map((one) => one + Math.min(more, Math.max(0, PITCH[1] - one)));
  const starts = pitches.map((_, at) => pitches.slice(0, at).reduce((sum, one) => sum + one, left));
  const row = clamp(tall / (iteration.last_row + sizes.free_rows), ROW[tall < TALL ? 0 : 1], ROW[2]);
  const width = Math.ceil(starts[starts.length - 1] + pitches[pitches.length - 1]);
  const height = Math.ceil((iteration.last_row + sizes.free_rows) * row + 6);
  const at = (node) => ({x: starts[node.column], y: (node.row + sizes.first_row) * row});
  return {
    upright: false,
    width,
    height,
    pitch: needed / least.length,
    at,
    band: (layer) => ({
      x: starts[layer] + sizes.band_start * PITCH[0],
      y: 0,
      width: pitches[layer] - (1 - sizes.band_width) * PITCH[0],
      height,
    }),
    edge: (parent, node, multiplicity) => {
      const from = at(parent);
      const to = at(node);
      const label = parent.label_columns + (multiplicity > 1 ? sizes.count_columns : 0);
      const out = from.x + sizes.label_gap + label * sizes.glyph + sizes.label_end;
      const bend = Math.max(from.x + sizes.bend * pitches[parent.column], out);
      const end = to.x - sizes.mark_gap;
      const middle = (bend + end) / 2;
      return (
        `M${out.toFixed(1)},${from.y.toFixed(1)}H${bend.toFixed(1)}C${middle.toFixed(1)},${from.y.toFixed(1)} ` +
        `${middle.toFixed(1)},${to.y.toFixed(1)} ${end.toFixed(1)},${to.y.toFixed(1)}`
      );
    },
  };
}

function outline(iteration, room) {
  const order = new Map();
  const visit = (above) => {
    const below = iteration.nodes.filter(({parent}) => parent === above);
    for (const node of below.sort((one, other) => one.row - other.row)) {
      order.set(node, order.size);
      visit(iteration.nodes.indexOf(node));
    }
  };
  visit(-1);
  const at = (node) => ({x: 16 + node.column * INDENT, y: (order.get(node) + 0.6) * LINE});
  const reach = iteration.nodes.map(
    (node) => at(node).x + sizes.label_gap + (node.label_columns + sizes.count_columns) * sizes.glyph,
  );
  const width = Math.ceil(Math.max(room, ...reach));
  const height = Math.ceil((order.size + 0.3) * LINE);
  return {
    upright: true,
    head: 0,
    width,
    height,
    pitch: INDENT,
    at,
    band: (layer) => ({x: 16 + (layer - 0.5) * INDENT, y: 0, width: INDENT, height}),
    edge: (parent, node) => {
      const from = at(parent);
      const to = at(node);
      const turn = INDENT - sizes.mark_gap;
      return `M${from.x},${(from.y + sizes.mark_gap).toFixed(1)}V${(to.y - turn).toFixed(1)}q0,${turn} ${turn},${turn}`;
    },
  };
}
