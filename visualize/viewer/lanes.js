/* Two lanes, why guessing is faster: the same text written twice, on one clock. Above, the large model alone: a block
 * is a pass, for one token. Below, thin ticks of the small model, and a block for the pass that checks its guesses:
 * several tokens. Each lane ends in its sum, with its parts where there is room. A click or a key goes to a pass.
 *
 * The clock counts milliseconds where the cost of a pass was measured (setCosts), else passes: guessing as long as it
 * was recorded, and a pass of the large model alone as long as one that checks. */

import {draw, keysOf, make, obey, set} from "./dom.js";
import {columnsOf} from "./tokens.js";

const LANES_MS = 3000;
const WIDE_FROM = 620; // pixels: labels stand beside their lanes
const PARTS_FROM = 900; // pixels: the parts of a sum stand below it
const GLYPH = 7; // pixels of a letter below a lane
const CAPTION = {alone: 36, guided: 56}; // pixels of a block from which its tokens stand below it
/* Pixels: pitch: from a lane to the next; label, band, bar, tall, text: where the parts of a lane stand. */
const SIZES = {
  wide: {pitch: 44, label: 16, band: 0, bar: 3, tall: 17, text: 33},
  narrow: {pitch: 46, label: 13, band: 18, bar: 22, tall: 14, text: 0},
};

export class Lanes {
  constructor(viewer) {
    this.viewer = viewer;
    this.costs = null;
    this.title = make("b", {});
    this.quality = make("span", {});
    this.svg = draw("svg", {class: "dsbd-lanes", "aria-hidden": "true"});
    const slider = {role: "slider", tabindex: "0", "aria-label": viewer.say("ui.strip"), "aria-valuemin": 1};
    this.slider = make("div", {class: "dsbd-lanes-room", ...slider}, this.svg);
    const head = make("div", {class: "dsbd-lanes-head"}, this.title, this.quality);
    this.element = make("div", {}, head, this.slider);
    this.slider.addEventListener("keydown", (event) => this.onKey(event));
    this.svg.addEventListener("click", (event) => this.onClick(event));
  }

  /* costs: seconds of a pass of the large model {alone}, of each node more in it {node}, of a step of the small model
   * {guess}; null where they were not measured. {scale}: by how much they were more in this decode, if not 1. */
  setCosts(costs) {
    this.costs = costs;
    if (this.viewer.scene.iterations.length) this.update(true);
  }

  /* Builds again only if the scene or the width of the page is new; a step only moves the mark of its pass. */
  update(isNew) {
    const width = this.slider.clientWidth || this.viewer.root.clientWidth || 800;
    if (isNew || this.width !== width) this.build(width);
    this.show();
  }

  build(width) {
    const {viewer} = this;
    const {say, words, scene} = viewer;
    this.width = width;
    this.clock = clockOf(scene, this.costs);
    const {turns, tokens, alone, guided} = this.clock;
    const passes = words.counted("passes", guided.passes);
    const counts = {tokens: words.counted("tokens", tokens.length), passes, alone: alone?.passes};
    this.title.textContent = say(alone && alone.passes > guided.passes ? "figure.instead" : "figure.decode", counts);
    this.quality.textContent = scene.settings.lossless ? say("figure.quality") : "";
    const kind = width < WIDE_FROM ? "narrow" : "wide";
    const size = (this.size = SIZES[kind]);
    const guidedLane = {
      label: say(scene.settings.draft_depth && !isSearch(scene) ? "lanes.guided" : "lanes.alone"),
      sum: guided,
      blocks: turns,
    };
    const aloneLabel = say(scene.settings.forest === "coupled" ? "lanes.alone" : "lanes.same");
    const lanes = alone ? [{label: aloneLabel, sum: alone, blocks: alone.blocks}, guidedLane] : [guidedLane];
    const height = lanes.length * size.pitch;
    set(this.svg, {viewBox: `0 0 ${width} ${height}`, width, height, "data-kind": kind});
    this.svg.replaceChildren();
    const wide = kind === "wide";
    const texts = lanes.map(({label, sum}, at) => {
      const y = at * size.pitch + size.label;
      const right = {x: width, y, "text-anchor": "end"};
      const total = sum.parts ? `${sum.lasts} ms` : words.counted("passes", sum.passes);
      const parts = width >= PARTS_FROM && sum.parts ? partsSaid(sum.parts, say) : "";
      return [
        this.put("text", {class: "dsbd-lane-label", x: 0, y, text: label}),
        this.put("text", {class: "dsbd-lane-sum", ...right, text: total}),
        this.put("text", {class: "dsbd-lane-parts", ...right, y: y + 17, text: parts}),
      ];
    });
    const lengths = texts.map((line) => line.map((text) => text.getComputedTextLength()));
    const room = (...which) => (wide ? Math.max(...lengths.flatMap((line) => which.map((at) => line[at]))) + 16 : 0);
    this.left = room(0);
    this.unit = (width - this.left - room(1, 2)) / Math.max(this.clock.whole, 1e-9);
    this.lanes = lanes.map(({blocks: list}, at) => this.lane(list, at * size.pitch, lanes.length - at === 1));
  }

  put(tag, properties, ...inside) {
    const mark = draw(tag, properties, ...inside);
    this.svg.append(mark);
    return mark;
  }

  /* The blocks of one lane with their tokens; below, each pass has a band, and says how many tokens it brought. */
  lane(blocks, top, isGuided) {
    return blocks.map((block, at) => {
      const {from, check, done} = block;
      const {left, unit, size, clock, viewer} = this;
      const moment = (start, lasts) =>
        `--at:${(LANES_MS * start) / clock.whole}ms;--for:${(LANES_MS * lasts) / clock.whole}ms`;
      const place = (start, end, y, height) => ({x: left + unit * start, y, width: unit * (end - start), height});
      const said = (kind, room, text, where) =>
        text && columnsOf(text) * GLYPH < room
          ? [draw("text", {class: `dsbd-lane-${kind}`, ...where, style: moment(done, 0), text})]
          : [];
      const bar = place(check, done, top + size.bar, size.tall);
      const band = place(from, done, top + size.band, size.pitch - 4 - size.band);
      const base = bar.y + bar.height;
      const middle = {x: bar.x + bar.width / 2, y: base - 4.5, "text-anchor": "middle"};
      const group = this.put(
        "g",
        {class: block.isBehind ? "dsbd-lane-behind" : null},
        ...(isGuided
          ? [draw("title", {text: this.name(at)}), draw("rect", {class: "dsbd-lane-band", rx: 4, ...band})]
          : []),
        ...Array.from({length: block.guesses ?? 0}, (_, guess) => {
          const start = from + ((guess + 0.5) * (check - from)) / block.guesses;
          const d = `M${left + unit * start},${base}v${-size.tall * 0.6}`;
          return draw("path", {class: "dsbd-lane-tick", d, style: moment(start, 0)});
        }),
        draw("rect", {
          class: "dsbd-lane-pass",
          ...bar,
          width: bar.width - Math.min(1.5, bar.width / 6), // there is a gap between blocks
          rx: Math.min(2, bar.width / 6),
          style: moment(check, done - check),
        }),
      );
      const isNamed = size.text && band.width >= CAPTION[isGuided ? "guided" : "alone"];
      const tokens = isGuided ? clock.tokens.slice(block.first - 1, block.last) : [block.token];
      const number = block.last - block.first + 1;
      const counted = size.text ? viewer.words.counted("tokens", number) : String(number);
      const count = isGuided && clock.alone ? counted : "";
      group.append(...said("count", bar.width, count, middle));
      if (isNamed) {
        group.append(...said("words", band.width, fitted(tokens, band.width), {x: band.x + 3, y: top + size.text}));
      }
      return group;
    });
  }

  name(at) {
    const {viewer} = this;
    const {first, last} = this.clock.turns[at];
    return viewer.say("figure.pass", {index: at + 1, tokens: viewer.words.counted("tokens", last - first + 1)});
  }

  /* Marks the pass that is shown, and in the lane above the passes that it stands for. */
  show() {
    const {it, scene} = this.viewer;
    const {turns} = this.clock;
    const {first, last} = scene.bands[it];
    const values = {"aria-valuemax": turns.length, "aria-valuenow": it + 1, "aria-valuetext": this.name(it)};
    set(this.slider, values);
    const [guided, alone = []] = [...this.lanes].reverse();
    guided.forEach((group, at) => group.classList.toggle("dsbd-current", at === it));
    alone.forEach((group, at) => group.classList.toggle("dsbd-current", at + 1 >= first && at + 1 <= last));
  }

  /* Plays once how both texts are written, on one clock. */
  play() {
    this.svg.classList.remove("dsbd-lanes-playing");
    void this.svg.clientWidth; // so that it begins anew
    this.svg.classList.add("dsbd-lanes-playing");
  }

  /* One step before the end everything is decided, and nothing has faded yet. */
  go(it) {
    const {viewer} = this;
    viewer.controls.stop();
    viewer.goto({it, step: viewer.scene.iterations[it].steps.length - 2});
  }

  onClick(event) {
    const box = this.svg.getBoundingClientRect();
    const at = (event.clientX - box.left - this.left) / this.unit;
    const isAbove = this.lanes.length > 1 && event.clientY - box.top < this.size.pitch;
    const word = Math.floor(at / this.clock.alone?.each) + 1;
    const isIn = isAbove
      ? ({first, last}) => word >= first && word <= last
      : ({from, done}) => at >= from && at <= done;
    const index = this.clock.turns.findIndex(isIn);
    if (index >= 0) this.go(index);
  }

  onKey(event) {
    obey(
      event,
      keysOf(this.viewer.it, this.clock.turns.length - 1, (it) => this.go(it), -1),
    );
  }
}

/* What happens when, on the clock, and what it sums up to. turns: a pass each; alone: of the large model alone, null
 * where it would write another text or nothing is guessed. Other versions may go on behind the answer: isBehind. */
/** @param {import("./scene.js").Scene} scene
 * @param {{alone: number, node: number, guess: number, scale?: number}?} measured */
export function clockOf(scene, measured) {
  const {settings, iterations, bands, best, result} = scene;
  const costs = isSearch(scene) ? null : measured;
  const scale = 1000 * (costs?.scale ?? 1); // milliseconds
  const textOf = ({id, text}) => (scene.known.get(id).ends ? " ∎" : text);
  const tokens = scene.path(best?.node).map((token) => ({...token, text: textOf(token)}));
  const isDone = result.length > 0;
  const recorded = iterations.map(({seconds}) => seconds.score + seconds.verify + seconds.commit);
  const pass = recorded.reduce((sum, one) => sum + one, 0) / recorded.length || Infinity;
  let now = 0;
  const turns = iterations.map((iteration, at) => {
    const from = now;
    const isAlone = !settings.draft_depth;
    const more = isAlone ? 0 : iteration.nodes.filter(({kind}) => kind !== "drawn").length - 1; // nodes
    const guesses = iteration.scoredStep; // each step before it is a pass of the small model
    const check = from + (costs ? scale * costs.guess * guesses : iteration.seconds.draft / pass);
    now = check + (costs ? scale * Math.max(costs.alone + costs.node * more, 0) : 1);
    return {
      ...bands[at],
      from,
      check,
      done: now,
      guesses,
      isBehind: tokens.length > 0 && bands[at].first > tokens.length,
    };
  });
  const own = turns.filter(({isBehind}) => !isBehind);
  const guided = sumOf(own, Boolean(costs));
  const each = costs ? 1000 * costs.alone : 1;
  const isCompared = settings.draft_depth > 0 && settings.lossless && tokens.length > 0;
  const blocks = tokens.map((token, at) => ({token, from: at * each, check: at * each, done: (at + 1) * each}));
  const alone = isCompared ? {each, blocks, ...sumOf(blocks, Boolean(costs))} : null;
  const most = isDone || !isCompared ? 0 : settings.max_new_tokens * each; // a decode that runs has room to grow
  const ratio = alone && costs ? alone.lasts / guided.lasts : null;
  return {tokens, turns, guided, alone, ratio, whole: Math.max(now, alone ? tokens.length * each : 0, most)};
}

/* The large model guesses itself, in passes whose cost is not known. */
const isSearch = ({settings}) => settings.method === "mjgd";

/* A sum: of passes, or of the milliseconds that its written parts give, {times, each}. */
function sumOf(turns, isTime) {
  const passes = turns.length;
  if (!isTime || !passes) return {passes, lasts: passes, parts: null};
  const sum = (of) => turns.reduce((before, turn) => before + of(turn), 0);
  const part = (times, all) => ({times, each: times && Number((all / times).toPrecision(2))});
  const checking = part(
    passes,
    sum(({check, done}) => done - check),
  );
  const guessing = part(
    sum(({guesses = 0}) => guesses),
    sum(({from, check}) => check - from),
  );
  const lasts = Number((passes * checking.each + guessing.times * guessing.each).toPrecision(3));
  return {passes, lasts, parts: [guessing, checking]};
}

/* "Guess 16 × 0.64 ms + Check 2 × 7.7 ms", or "17 × 1.9 ms" where nothing is guessed. */
function partsSaid(parts, say) {
  const [guessing, checking] = parts.map(({times, each}) => `${times} × ${each} ms`);
  return parts[0].times ? `${say("bar.draft")} ${guessing} + ${say("bar.score")} ${checking}` : checking;
}

/* The text of tokens, cut where there is no room for it. */
function fitted(tokens, room) {
  const text = tokens
    .map((token) => token.text)
    .join("")
    .replace(/\s+/g, " ")
    .trim();
  const most = Math.floor((room - 4) / GLYPH);
  if (columnsOf(text) <= most) return text;
  return most >= 4 ? `${[...text].slice(0, most - 1).join("")}…` : "";
}
