/* The whole decode above the forest: the text as a line, dropped guesses as twigs below it, one band for each pass.
 * A click or a key on the strip goes to a pass. */

import {STYLES, button, clamp, draw, iconButton, make, obey, set} from "./dom.js";
import {Lanes} from "./lanes.js";

/* Pixels: line: from the top to the line of the text; pitch: between two positions, least and most; row: between two
 * rows where there is room. */
const STRIP = {height: 118, line: 34, side: 14, pitch: [9, 64], row: 8, digit: 7};
const rounded = (pixels) => Math.round(10 * pixels) / 10;
const MARK_NAMES = Object.keys(STYLES).filter((mark) => mark !== "start");

export class Strip {
  constructor(viewer) {
    this.viewer = viewer;
    this.title = make("b", {});
    this.dropped = make("span", {class: "dsbd-dropped"});
    this.quality = make("span", {});
    const offer = (name, key, tab, onclick) =>
      button({class: `dsbd-${name}`, text: viewer.say(key), title: viewer.say(tab), onclick});
    this.why = offer("why", "cut.why", "tab.cut", () => viewer.parts.views.show("cut"));
    this.turn = offer("turn", "game.turn", "tab.game", () => viewer.game.start());
    this.lanes = new Lanes(viewer);
    this.again = iconButton("reset", viewer.say("lanes.again"), () => viewer.story.again(), {class: "dsbd-again"});
    this.sheet = draw("svg", {class: "dsbd-strip-sheet", "aria-hidden": "true"});
    const slider = {role: "slider", tabindex: "0", "aria-label": viewer.say("ui.strip"), "aria-valuemin": 1};
    this.scroller = make("div", {class: "dsbd-strip", ...slider}, this.sheet);
    const parts = [this.title, this.dropped, this.quality, this.why, this.turn, this.again];
    const room = make("div", {class: "dsbd-strip-room"}, this.scroller, this.lanes.element);
    this.element = make("div", {class: "dsbd-strip-place"}, make("div", {class: "dsbd-strip-head"}, ...parts), room);
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    this.sheet.addEventListener("click", (event) => this.onClick(event));
  }

  /* Builds again only if the scene or the width of the page is new; a step only moves the mark of its pass. */
  update() {
    const {whole} = this.viewer.scene;
    this.element.hidden = whole.bands.length < 2;
    if (this.element.hidden) return;
    const width = this.scroller.clientWidth || this.viewer.root.clientWidth || 800;
    if (this.drawn !== whole || this.width !== width) {
      this.drawn = whole;
      this.width = width;
      this.build(whole);
      this.lanes.fit();
    }
    this.show();
  }

  build(whole) {
    const {viewer} = this;
    const {words, scene} = viewer;
    this.bands = whole.bands;
    this.nodes = whole.nodes;
    const alone = whole.tokens;
    const upToAnswer = this.bands.filter(({first}) => first <= alone).length; // other versions may go on behind it
    const passes = words.counted("passes", upToAnswer);
    const tokens = words.counted("tokens", alone);
    const isFaster = scene.settings.lossless && alone > upToAnswer;
    this.title.textContent = viewer.say(isFaster ? "figure.instead" : "figure.decode", {tokens, passes, alone});
    this.dropped.textContent = isFaster ? viewer.say("figure.dropped") : "";
    this.quality.textContent = scene.settings.lossless ? viewer.say("figure.quality") : "";
    const isTried = scene.iterations.some(({trials}) => trials.length);
    this.why.hidden = !scene.settings.lossless || !isTried;
    this.turn.hidden = !scene.settings.lossless || viewer.game.pass < 0;
    this.again.hidden = !this.lanes.race;
    // While a decode runs, the strip has room for all tokens that were asked for.
    const limit = scene.result.length ? 0 : scene.settings.max_new_tokens;
    const columns = Math.max(whole.last_position, limit, 1);
    this.pitch = clamp((this.width - 2 * STRIP.side) / (columns + 0.5), ...STRIP.pitch);
    this.row = Math.min(STRIP.row, (STRIP.height - STRIP.line - 8) / Math.max(whole.last_row, 1));
    const across = Math.max(this.width, Math.ceil(2 * STRIP.side + (columns + 0.5) * this.pitch));
    set(this.sheet, {viewBox: `0 0 ${across} ${STRIP.height}`, width: across, height: STRIP.height});
    const placeOf = ({position, row}) => ({x: rounded(this.x(position)), y: rounded(STRIP.line + row * this.row)});
    this.places = new Map([{id: 0, position: 0, row: 0}, ...this.nodes].map((node) => [node.id, placeOf(node)]));
    this.rects = this.bands.map((band, at) => this.band(band, at));
    this.sheet.replaceChildren(
      ...this.rects,
      ...this.numbers(),
      ...MARK_NAMES.map((mark) => this.twigs(mark)),
      this.line(),
      ...MARK_NAMES.flatMap((mark) => [this.marks(mark, false), this.marks(mark, true)]),
    );
  }

  x(position) {
    return STRIP.side + position * this.pitch;
  }

  band({iteration, first, last}, at) {
    const {viewer} = this;
    const tokens = viewer.words.counted("tokens", last - first + 1);
    const title = draw("title", {text: viewer.say("figure.pass", {index: iteration + 1, tokens})});
    const width = Math.max(0, (last - first + 1) * this.pitch);
    const box = {x: this.x(first - 0.5), y: 1, width, height: STRIP.height - 2, rx: 3};
    return draw("rect", {class: `dsbd-strip-band${at % 2 ? " dsbd-odd" : ""}`, ...box}, title);
  }

  /* The numbers of the passes, as far as there is room. */
  numbers() {
    let free = 0;
    return this.bands.flatMap(({iteration, first, last}) => {
      const middle = this.x((first + last) / 2);
      const text = String(iteration + 1);
      const half = (text.length * STRIP.digit) / 2;
      if (last < first || middle - half < free) return [];
      free = middle + half + 2;
      return [draw("text", {class: "dsbd-strip-number", x: middle, y: 14, "text-anchor": "middle", text})];
    });
  }

  twigs(mark) {
    const path = this.nodes
      .filter((node) => node.mark === mark && node.row)
      .map((node) => {
        const from = this.places.get(node.parent);
        const to = this.places.get(node.id);
        const middle = rounded((from.x + to.x) / 2);
        return `M${from.x},${from.y}C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
      });
    return draw("path", {class: "dsbd-strip-twig", d: path.join(""), style: `stroke:var(--dsbd-${mark})`});
  }

  line() {
    const last = Math.max(0, ...this.nodes.filter((node) => !node.row).map((node) => node.position));
    return draw("path", {class: "dsbd-strip-line", d: `M${this.x(0)},${STRIP.line}H${this.x(last)}`});
  }

  /* All marks of one look as one path: a decode of 512 tokens has thousands of them. */
  marks(mark, onLine) {
    const size = onLine ? Math.min(4, 0.42 * this.pitch) : Math.min(2.6, 0.34 * this.row, 0.3 * this.pitch);
    const path = this.nodes
      .filter((node) => node.mark === mark && !node.row === onLine)
      .map((node) => markShape(mark, this.places.get(node.id), size));
    const kind = onLine ? "dsbd-strip-mark" : "dsbd-strip-mark dsbd-strip-dead";
    const paint = STYLES[mark].filled ? "fill" : "fill:none;stroke";
    return draw("path", {class: kind, d: path.join(""), style: `${paint}:var(--dsbd-${mark})`});
  }

  show() {
    const {viewer, scroller} = this;
    const at = this.bands.findIndex((band) => band.iteration === viewer.now.index);
    this.rects.forEach((rect, index) => rect.classList.toggle("dsbd-current", index === at));
    const band = this.bands[at];
    const title = this.rects[at]?.querySelector("title").textContent ?? "";
    set(scroller, {"aria-valuemax": this.bands.length, "aria-valuenow": at + 1, "aria-valuetext": title});
    if (this.shown === at || !band) return;
    this.shown = at;
    const [from, to] = [this.x(band.first - 0.5), this.x(band.last + 0.5)];
    if (from < scroller.scrollLeft || to > scroller.scrollLeft + scroller.clientWidth) {
      scroller.scrollTo({left: (from + to - scroller.clientWidth) / 2});
    }
  }

  go(index) {
    const {viewer} = this;
    const it = viewer.scene.iterations.findIndex((iteration) => iteration.index === index);
    if (it < 0) return;
    viewer.controls.stop();
    // One step before the end everything is decided, and nothing has faded yet.
    viewer.goto({it, step: viewer.scene.iterations[it].steps.length - 2});
  }

  onClick(event) {
    const position = Math.round((event.clientX - this.sheet.getBoundingClientRect().left - STRIP.side) / this.pitch);
    const band = this.bands.find(({first, last}) => position >= first && position <= last);
    if (band) this.go(band.iteration);
  }

  onKey(event) {
    const at = this.bands.findIndex((band) => band.iteration === this.viewer.now.index);
    obey(
      event,
      keysOf(at, this.bands.length - 1, (index) => this.go(this.bands[index].iteration), -1),
    );
  }
}

/* Keys that move in a row of parts, from the index `at`. down: how far the arrow down goes, 1 or -1. */
function keysOf(at, last, go, down) {
  const to = (index) => () => go(clamp(index, 0, last));
  const arrows = {ArrowLeft: to(at - 1), ArrowRight: to(at + 1), ArrowDown: to(at + down), ArrowUp: to(at - down)};
  return {...arrows, Home: to(0), End: to(last)};
}

/* The shapes of theme.json with relative coordinates only, so that all of one mark make one short path. */
function markShape(mark, {x, y}, size) {
  if (mark === "picked") {
    const far = rounded(size * 1.25);
    return `M${x},${y}m0,-${far}l${far},${far}l-${far},${far}l-${far},-${far}z`;
  }
  if (mark === "dropped") {
    const far = rounded(size * 0.8);
    return `M${x},${y}m-${far},-${far}l${2 * far},${2 * far}m0,-${2 * far}l-${2 * far},${2 * far}`;
  }
  const radius = rounded(mark === "guess" ? size * 0.8 : size);
  return `M${x},${y}m-${radius},0a${radius},${radius} 0 1 0 ${2 * radius},0a${radius},${radius} 0 1 0 -${2 * radius},0z`;
}

/* The memory of a long prompt: its segments as a row, and how much the chosen one recalls of each before it. The last
 * segment is in the window. A scene whose prompt is read whole has no memory, and nothing is shown. */
const LEAST_SHARE = 0.005; // less is not named: it rounds to 0 %
const LABELLED = 2; // so many of the largest shares have their number without pointing at them
const sharesOf = ({first_memory, weights}) =>
  weights.map((weight, at) => ({at: first_memory + at, weight})).sort((one, other) => other.weight - one.weight);

export class MemoryRow {
  constructor(viewer) {
    const {say} = viewer;
    this.viewer = viewer;
    this.title = make("b", {});
    this.row = make("div", {class: "dsbd-memory-row", role: "radiogroup", "aria-label": say("memory.strip")});
    this.row.addEventListener("keydown", (event) => this.onKey(event));
    this.note = make("p", {class: "dsbd-memory-said", "aria-live": "polite"});
    this.legend = make("p", {class: "dsbd-hint dsbd-memory-legend"});
    this.name = make("p", {class: "dsbd-fact-title"});
    this.text = make("p", {class: "dsbd-line dsbd-memory-text", dir: "auto", tabindex: "0"});
    this.element = make(
      "section",
      {class: "dsbd-memory", "aria-label": say("memory.label"), hidden: ""},
      this.title,
      this.row,
      make("div", {}, this.legend, this.note, make("p", {class: "dsbd-hint", text: say("memory.distribution")})),
      make("div", {class: "dsbd-memory-read"}, this.name, this.text),
    );
  }

  /* Builds again only if the memory is another one: a frame of a running decode leaves the focus where it is. */
  update() {
    const {memory} = this.viewer.scene;
    this.element.hidden = !memory;
    const key = memory ? JSON.stringify(memory) : "";
    if (!memory || this.drawn === key) return;
    this.drawn = key;
    this.segments = memory.segments;
    this.build(memory);
    this.choose(this.segments.length - 1);
  }

  build({segments, sensory}) {
    const {say, words} = this.viewer;
    const last = segments.length - 1;
    const longest = Math.max(...segments.map(({tokens}) => tokens));
    this.title.textContent = say("memory.title", {count: segments.length});
    this.cells = segments.map(({tokens}, at) => {
      const box = make("span", {class: "dsbd-memory-box", text: String(at + 1)});
      const repeated = sensory && at >= last - 1 ? make("i", {class: "dsbd-memory-sensory"}) : "";
      if (repeated) repeated.style.width = `${clamp((100 * sensory) / tokens, 5, 100)}%`;
      box.append(repeated);
      const share = make("span", {class: "dsbd-memory-share"});
      const bar = make("span", {class: "dsbd-memory-bar"});
      const onclick = () => this.choose(at);
      const entry = button({class: "dsbd-memory-cell", role: "radio", onclick}, share, bar, box);
      entry.style.gridTemplateColumns = `minmax(18px, ${(100 * tokens) / longest}%)`;
      entry.classList.toggle("dsbd-memory-window", at === last);
      return {entry, share, bar};
    });
    this.row.replaceChildren(...this.cells.map(({entry}) => entry));
    const key = (kind, text) => make("span", {}, make("i", {class: `dsbd-memory-key ${kind}`}), text);
    const repeated = say("memory.sensory", {tokens: words.counted("tokens", sensory), segment: last});
    this.legend.replaceChildren(
      key("dsbd-memory-window", say("memory.window")),
      ...(sensory ? [key("dsbd-memory-sensory", repeated)] : []),
    );
  }

  choose(at) {
    const {say, words} = this.viewer;
    this.chosen = at;
    const segment = at + 1;
    const shares = sharesOf(this.segments[at]);
    const weightOf = new Map(shares.map((one) => [one.at, one.weight]));
    const labelled = shares.slice(0, LABELLED).map((one) => one.at);
    this.cells.forEach(({entry, share, bar}, index) => {
      const weight = weightOf.get(index);
      const text = weight === undefined ? "" : percent(weight);
      share.textContent = text.replace("\u202f", ""); // a cell is narrow
      bar.style.height = `${100 * (weight ?? 0)}%`;
      bar.hidden = weight === undefined;
      entry.classList.toggle("dsbd-memory-large", labelled.includes(index) && weight >= LEAST_SHARE);
      entry.classList.toggle("dsbd-memory-unread", index > at);
      const {tokens} = this.segments[index];
      const parts = [say("memory.segment", {segment: index + 1, tokens: words.counted("tokens", tokens)})];
      if (index === this.cells.length - 1) parts.push(say("memory.window"));
      if (text) parts.push(say("memory.share", {share: text, segment}));
      entry.title = parts.join(", ");
      entry.setAttribute("aria-label", entry.title);
      entry.setAttribute("aria-checked", index === at);
      entry.tabIndex = index === at ? 0 : -1;
    });
    this.note.textContent = this.sentence(segment, shares);
    this.name.textContent = say("memory.text", {segment});
    this.text.textContent = this.segments[at].text;
    this.text.scrollTop = 0;
  }

  sentence(segment, [most, next]) {
    const {say} = this.viewer;
    if (!most) return say("memory.none", {segment});
    const values = {segment, first: most.at + 1, share: percent(most.weight)};
    if (!next || next.weight < LEAST_SHARE) return say("memory.one", values);
    return say("memory.two", {...values, second: next.at + 1, other: percent(next.weight)});
  }

  onKey(event) {
    const go = (index) => {
      this.choose(index);
      this.cells[index].entry.focus();
    };
    obey(event, keysOf(this.chosen, this.cells.length - 1, go, 1));
  }
}

/* A share from 0 to 1 for a sentence; more than nothing is never 0 %. */
const percent = (share) => (share > 0 && share < LEAST_SHARE ? "<\u20601\u202f%" : `${Math.round(100 * share)}\u202f%`);
