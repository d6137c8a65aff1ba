/* The whole decode above the forest: the text as a line, dropped guesses as twigs below it, one band for each pass.
 * A click or a key on the strip goes to a pass. */

import {button, clamp, draw, iconButton, make, obey, set} from "./dom.js";
import {Lanes} from "./lanes.js";
import {STYLES} from "./marks.js";

const STRIP = {
  height: 118,
  line: 34, // pixels from the top to the line of the text
  side: 14,
  pitch: [9, 26], // pixels between two positions, least and most
  row: 8, // pixels between two rows where there is room
  digit: 7,
  near: 7, // pixels within which a click means a mark, not its band
};
const rounded = (pixels) => Math.round(10 * pixels) / 10;
const MARK_NAMES = Object.keys(STYLES).filter((mark) => mark !== "start");

export class Strip {
  constructor(viewer) {
    this.viewer = viewer;
    this.title = make("b", {});
    this.dropped = make("span", {class: "dsbd-dropped"});
    this.quality = make("span", {});
    this.why = button({
      class: "dsbd-why",
      text: viewer.say("cut.why"),
      title: viewer.say("tab.cut"),
      onclick: () => viewer.parts.views.show("cut"),
    });
    this.turn = button({
      class: "dsbd-turn",
      text: viewer.say("game.turn"),
      title: viewer.say("tab.game"),
      onclick: () => viewer.game.start(),
    });
    this.lanes = new Lanes(viewer);
    this.again = iconButton("reset", viewer.say("lanes.again"), () => viewer.story.again(), {class: "dsbd-again"});
    this.sheet = draw("svg", {class: "dsbd-strip-sheet", "aria-hidden": "true"});
    this.scroller = make(
      "div",
      {class: "dsbd-strip", role: "slider", tabindex: "0", "aria-label": viewer.say("ui.strip"), "aria-valuemin": 1},
      this.sheet,
    );
    this.element = make(
      "div",
      {class: "dsbd-strip-place"},
      make("div", {class: "dsbd-strip-head"}, this.title, this.dropped, this.quality, this.why, this.turn, this.again),
      make("div", {class: "dsbd-strip-room"}, this.scroller, this.lanes.element),
    );
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
    const passes = words.counted("passes", this.bands.length);
    const alone = this.bands[this.bands.length - 1].last;
    const tokens = words.counted("tokens", whole.tokens);
    const isFaster = scene.settings.lossless && alone > this.bands.length;
    this.title.textContent = viewer.say(isFaster ? "figure.instead" : "figure.decode", {tokens, passes, alone});
    this.dropped.textContent = isFaster ? viewer.say("figure.dropped") : "";
    this.quality.textContent = scene.settings.lossless ? viewer.say("figure.quality") : "";
    const isTried = scene.iterations.some(({trials}) => trials.length);
    this.why.hidden = !scene.settings.lossless || !isTried;
    this.turn.hidden = !scene.settings.lossless || viewer.game.pass < 0;
    this.again.hidden = !this.lanes.race;
    viewer.root.classList.toggle("dsbd-without-lanes", !this.lanes.race);
    // While a decode runs, the strip has room for all tokens that were asked for.
    const asked = scene.result.length ? 0 : scene.settings.max_new_tokens;
    const columns = Math.max(whole.last_position, asked, 1);
    this.pitch = clamp((this.width - 2 * STRIP.side) / (columns + 0.5), ...STRIP.pitch);
    this.row = Math.min(STRIP.row, (STRIP.height - STRIP.line - 8) / Math.max(whole.last_row, 1));
    const across = Math.max(this.width, Math.ceil(2 * STRIP.side + (columns + 0.5) * this.pitch));
    const size = {viewBox: `0 0 ${across} ${STRIP.height}`, width: across, height: STRIP.height};
    set(this.sheet, size);
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
    const won = viewer.words.counted("tokens", last - first + 1);
    return draw(
      "rect",
      {
        class: `dsbd-strip-band${at % 2 ? " dsbd-odd" : ""}`,
        x: this.x(first - 0.5),
        y: 1,
        width: Math.max(0, (last - first + 1) * this.pitch),
        height: STRIP.height - 2,
        rx: 3,
      },
      draw("title", {text: viewer.say("figure.pass", {index: iteration + 1, tokens: won})}),
    );
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

  /* ---- where the reader is -------------------------------------------------------------------------------------- */

  show() {
    const {viewer, scroller} = this;
    const at = this.bands.findIndex((band) => band.iteration === viewer.now.index);
    this.rects.forEach((rect, place) => rect.classList.toggle("dsbd-current", place === at));
    const band = this.bands[at];
    const title = this.rects[at]?.querySelector("title").textContent ?? "";
    const told = {"aria-valuemax": this.bands.length, "aria-valuenow": at + 1, "aria-valuetext": title};
    set(scroller, told);
    if (this.shown === at || !band) return;
    this.shown = at;
    const from = this.x(band.first - 0.5);
    const to = this.x(band.last + 0.5);
    if (from < scroller.scrollLeft || to > scroller.scrollLeft + scroller.clientWidth) {
      scroller.scrollTo({left: (from + to - scroller.clientWidth) / 2});
    }
  }

  go(index, how) {
    const {viewer} = this;
    const it = viewer.scene.iterations.findIndex((iteration) => iteration.index === index);
    if (it < 0) return;
    viewer.controls.stop();
    // One step before the end everything is decided, and nothing has faded yet.
    viewer.goto({it, step: viewer.scene.iterations[it].steps.length - 2, ...how});
  }

  /* A click on a mark opens its pass with that node in view, a click beside marks opens the pass with its verdicts. */
  onClick(event) {
    const box = this.sheet.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const near = this.nodes
      .map((node) => ({node, far: Math.hypot(this.places.get(node.id).x - x, this.places.get(node.id).y - y)}))
      .filter(({far}) => far < STRIP.near)
      .sort((one, other) => one.far - other.far)[0];
    const position = Math.round((x - STRIP.side) / this.pitch);
    const band = this.bands.find(({first, last}) => position >= first && position <= last);
    if (near) this.go(near.node.iteration, {step: Infinity, node: near.node.id});
    else if (band) this.go(band.iteration);
  }

  onKey(event) {
    const at = this.bands.findIndex((band) => band.iteration === this.viewer.now.index);
    const last = this.bands.length - 1;
    const to = (place) => () => this.go(this.bands[clamp(place, 0, last)].iteration);
    const [back, on] = [to(at - 1), to(at + 1)];
    obey(event, {ArrowLeft: back, ArrowDown: back, ArrowRight: on, ArrowUp: on, Home: to(0), End: to(last)});
  }
}

/* The shapes of look/marks.json with relative coordinates only, so that all of one mark make one short path. */
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
