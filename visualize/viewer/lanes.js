/* Two lanes, why guessing is faster: the same text written twice, on one clock that counts passes of the large model.
 * Above, the large model alone: a block, a word. Below, thin ticks of the small model, a block, and words in clumps,
 * underlined by who wrote them. Guessing and choosing last as recorded; a pass of the large model alone as long as one
 * that checks, unless it was measured. Three seconds, then it stands still. */

import {calm, clamp, draw, markOf, set} from "./dom.js";
import {columnsOf} from "./tokens.js";
import {number} from "./words.js";

const RACE_MS = 3000;
export const LANES_MS = RACE_MS + 1800; // then it stands still
const WIDE_FROM = 620; // pixels: labels stand beside their lanes
const DIGIT = 9; // pixels of a letter of a count
const LANE_PITCH = 59; // from a lane to the next
const LANE_LINES = 2; // of text in a lane
/* Where the parts of a lane stand, and how far apart its lines are. */
const LANE = {
  wide: {right: 14, label: 14, bar: 3, tall: 13, text: 32, line: 17},
  narrow: {right: 0, label: 12, bar: 17, tall: 9, text: 39, line: 15},
};

export class Lanes {
  constructor(viewer) {
    this.viewer = viewer;
    this.element = draw("svg", {class: "dsbd-lanes", role: "img", hidden: ""});
    this.frame = this.ms = 0;
    this.plays = false;
    this.measured = {};
    this.tree = this.timeline = null;
  }

  /* Whether there is something to show. */
  get race() {
    const {whole} = this.viewer.scene;
    if (this.tree !== whole) this.timeline = timelineOf(this.viewer.scene, this.measured);
    this.tree = whole;
    return this.timeline;
  }

  /* What was measured of the large model alone: pace, how long its pass is in passes that check, or ratio, how often as
   * fast the decode was. */
  setAlone(measured) {
    Object.assign(this, {measured, tree: null});
    if (this.plays && this.race) this.fit();
  }

  /* Plays once over the strip, or until it stands still. Who wants no movement sees its end, until stop. */
  play(until = LANES_MS) {
    this.stop();
    this.plays = true;
    this.fit(calm() ? RACE_MS : 0);
    if (calm() || !this.plays) return;
    let since = null;
    const next = (now) => {
      since ??= now;
      this.show(Math.min(now - since, until));
      if (now - since < until) this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  stay(shown) {
    this.stop();
    if (shown && this.race) this.play(RACE_MS);
  }

  /* As large as its place, which may change while it plays; its moment stays. */
  fit(ms = this.ms) {
    if (!this.plays) return;
    const {width, height} = this.element.parentNode.getBoundingClientRect();
    this.plays = width > 0; // else it stands in a part of the page that is not shown
    if (!this.plays) return;
    this.element.removeAttribute("hidden");
    this.build(width, height, width < WIDE_FROM ? "narrow" : "wide");
    this.show(ms);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.plays = false;
    this.element.setAttribute("hidden", "");
    this.element.replaceChildren();
  }

  build(width, height, kind) {
    const {race, viewer} = this;
    const label = `${viewer.strip.title.textContent}. ${viewer.say("story.lanes")}`;
    const box = {viewBox: `0 0 ${width} ${height}`, width, height};
    set(this.element, {class: `dsbd-lanes dsbd-lanes-${kind}`, ...box, "aria-label": label});
    this.element.replaceChildren(draw("rect", {class: "dsbd-lanes-paper", width, height}));
    const labels = ["lanes.alone", "lanes.guided"].map((key) =>
      this.put("text", {class: "dsbd-lane-label", x: 0, text: viewer.say(key)}),
    );
    const left = kind === "wide" ? Math.max(...labels.map((label) => label.getComputedTextLength())) + 16 : 0;
    const size = {...LANE[kind], left, width};
    if (kind === "wide") size.right += DIGIT * columnsOf(this.counted(race.alone, race.alone));
    this.size = size;
    this.unit = (size.width - left - size.right) / race.whole;
    const words = Array.from({length: race.alone}, (_, at) => ({check: at * race.pace, lasts: race.pace}));
    this.alone = this.lane(labels[0], 0, words, (at) => (at + 1) * race.pace);
    this.guided = this.lane(labels[1], LANE_PITCH, race.turns, (at) => race.guided[at], true);
    if (kind !== "wide") return;
    const free = left + this.unit * race.turns[race.turns.length - 1].lands + 14;
    this.legend(free, LANE_PITCH + size.bar + size.tall - 2, width - size.right - free);
  }

  /* The label, the blocks and the words of one lane; landing: when the word at a place is there. */
  lane(label, top, turns, landing, isGuided = false) {
    const {size, unit} = this;
    const {left, bar, tall, width} = size;
    label.setAttribute("y", top + size.label);
    const count = this.put("text", {class: "dsbd-lane-count", x: width, y: top + size.label, "text-anchor": "end"});
    this.put("path", {class: "dsbd-lane-ground", d: `M${left},${top + bar + tall + 0.5}h${unit * this.race.whole}`});
    const blocks = turns.map(({from, check, guesses = 0, lasts = 1}) => {
      const ticks = Array.from({length: guesses}, (_, guess) => {
        const at = from + ((guess + 0.5) * (check - from)) / guesses;
        const d = `M${left + unit * at},${top + bar + tall}v${-tall * 0.6}`;
        return {at, mark: this.put("path", {class: "dsbd-lane-tick", d})};
      });
      const box = {x: left + unit * check, y: top + bar, width: 0, height: tall};
      const rect = this.put("rect", {class: "dsbd-lane-pass", ...box});
      const most = unit * lasts - Math.min(1, (unit * lasts) / 6); // there is a gap between blocks
      return {rect, check, ends: check + lasts, most, ticks};
    });
    const before = this.put("text", {class: "dsbd-lane-before", x: left - 14, y: top + size.text, text: "…"});
    return {count, blocks, before, ...this.rows(landing, isGuided), top: top + size.text};
  }

  counted(passes, whole) {
    return `${passes} / ${this.viewer.words.counted("passes", whole)}`;
  }

  put(tag, properties) {
    const mark = draw(tag, properties);
    this.element.append(mark);
    return mark;
  }

  /* The text in lines as wide as the clock: each token is a piece, in the lower lane with a line below it. */
  rows(landing, isUnderlined) {
    const {race, unit} = this;
    const end = race.tokens.length - 1;
    const textOf = (token, at) => (race.ended && at === end ? " ∎" : typed(token, at === end));
    const spans = race.tokens.map((token, at) => draw("tspan", {text: textOf(token, at)}));
    const whole = this.put("text", {class: "dsbd-lane-words", "xml:space": "preserve"});
    whole.append(...spans);
    const wide = spans.map((span) => span.getComputedTextLength());
    whole.remove();
    const pieces = [];
    const rows = broken(spans, wide, unit * race.whole).map((indices, at) => {
      const text = draw("text", {class: "dsbd-lane-words", "xml:space": "preserve"});
      const row = this.put("g", {});
      row.append(text);
      text.append(...indices.map((index) => spans[index]));
      spans[indices[0]].textContent = spans[indices[0]].textContent.trimStart();
      for (const index of indices) {
        const piece = {span: spans[index], row: at, under: null, at: landing(index)};
        if (isUnderlined) {
          const mark = markOf(race.tokens[index].origin);
          piece.under = draw("path", {class: `dsbd-lane-line dsbd-lane-${mark}`, d: extent(spans[index])});
          row.append(piece.under);
        }
        pieces.push(piece);
      }
      return row;
    });
    return {rows, pieces};
  }

  /* What ticks, gaps and the lines below the words mean, as far as there is room. */
  legend(start, y, room) {
    const {viewer, race} = this;
    let x = start;
    const items = [
      ["dsbd-lane-tick", "M0,0v-8m4,8v-8m4,8v-8", viewer.say("lanes.share", {share: number(race.share)})],
      ["dsbd-lane-pass", "M0,-9h6v10h-6zM12,-9h6v10h-6z", viewer.say("lanes.choose", {share: number(race.choosing)})],
      ["dsbd-lane-line dsbd-lane-kept", "M0,-2h18", viewer.say("mark.kept")],
      ["dsbd-lane-line dsbd-lane-picked", "M0,-2h18", viewer.say("mark.picked")],
      ...(race.pace === 1 ? [["dsbd-lane-pass", "M4,-9h10v10h-10z", viewer.say("lanes.equal")]] : []),
    ];
    for (const [kind, d, meaning] of items) {
      const item = this.put("g", {});
      const text = draw("text", {class: "dsbd-lane-note", x: 22, text: meaning});
      item.append(draw("path", {class: kind, d}), text);
      const wide = 22 + text.getComputedTextLength();
      if (x + wide > start + room) {
        item.remove();
        continue;
      }
      item.setAttribute("transform", `translate(${x},${y})`);
      x += wide + 16;
    }
  }

  show(ms) {
    this.ms = ms;
    const now = (this.race.whole * clamp(ms, 0, RACE_MS)) / RACE_MS + 1e-9;
    for (const lane of [this.alone, this.guided]) this.showLane(lane, now);
  }

  showLane({blocks, pieces, rows, count, before, top}, now) {
    const {size, unit} = this;
    let passes = 0;
    for (const {rect, check, ends, most, ticks} of blocks) {
      if (ends <= now) passes++;
      rect.setAttribute("width", clamp(unit * (now - check), 0, most));
      for (const {at, mark} of ticks) mark.classList.toggle("dsbd-to-come", at > now);
    }
    let newest = 0;
    for (const {span, under, row, at} of pieces) {
      const isToCome = at > now;
      if (!isToCome) newest = row;
      span.classList.toggle("dsbd-to-come", isToCome);
      under?.classList.toggle("dsbd-to-come", isToCome);
    }
    const first = Math.max(0, newest - LANE_LINES + 1);
    before.classList.toggle("dsbd-to-come", first === 0);
    rows.forEach((row, at) => {
      row.setAttribute("transform", `translate(${size.left},${top + (at - first) * size.line})`);
      row.toggleAttribute("hidden", at < first || at >= first + LANE_LINES);
    });
    const isDone = passes === blocks.length;
    count.textContent = isDone ? this.viewer.words.counted("passes", passes) : this.counted(passes, blocks.length);
  }
}

/* What happens when, in passes; null where guessing wins nothing or changes the distribution, or the text is not known
 * yet. */
/** @param {import("./scene.js").Scene} scene @param {{pace?: number, ratio?: number}} measured */
function timelineOf(scene, {pace = 1, ratio}) {
  const [best] = scene.result;
  if (!best || scene.iterations.length < scene.bands.length || !scene.settings.lossless) return null;
  const tokens = scene.path(best.node);
  const alone = tokens.length;
  const bands = scene.bands.filter(({first}) => first <= alone); // other versions may go on behind the text
  if (bands.length >= alone) return null;
  const seconds = scene.iterations.slice(0, bands.length).map((iteration) => iteration.seconds);
  const sum = (phase) => seconds.reduce((total, one) => total + one[phase], 0);
  const pass = sum("score") / seconds.length || Infinity;
  let now = 0;
  const turns = bands.map(({last}, at) => {
    const {draft, verify, commit} = seconds[at];
    const from = now;
    const check = from + draft / pass;
    now = check + 1 + (verify + commit) / pass;
    const guesses = scene.iterations[at].scoredStep; // each step before it is a pass of the small model
    return {from, check, lands: now, last, guesses};
  });
  const alonePace = ratio ? (ratio * now) / alone : pace;
  const guided = tokens.map((_, at) => turns.find(({last}) => at < last)?.lands ?? now);
  const share = sum("draft") / sum("score");
  const choosing = (sum("verify") + sum("commit")) / sum("score");
  const whole = Math.max(alone * alonePace, now);
  return {tokens, ended: best.finished, turns, alone, guided, pace: alonePace, whole, share, choosing};
}

/* What a token adds to a line of text. */
const typed = ({text, pending}, isLast) => `${text}${isLast ? pending : ""}`.replace(/\s/g, " ");

/* The places of the tokens in lines no longer than the room: a line begins with a word, where one word fits a line. */
function broken(spans, wide, room) {
  const rows = [[]];
  let used = 0;
  let word = [];
  const length = (indices) => indices.reduce((sum, index) => sum + wide[index], 0);
  const add = (indices) => {
    if (used && used + length(indices) > room) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1].push(...indices);
    used += length(indices);
  };
  const end = () => {
    if (length(word) <= room) add(word);
    else word.forEach((index) => add([index]));
    word = [];
  };
  spans.forEach((span, index) => {
    if (/^\s/.test(span.textContent)) end();
    word.push(index);
  });
  end();
  return rows;
}

/* A line below a token, without the space before it. */
function extent(span) {
  const text = span.textContent;
  const from = text.length - text.trimStart().length;
  if (from === text.length) return "";
  const boxes = Array.from({length: text.length - from}, (_, at) => span.getExtentOfChar(from + at));
  const left = Math.min(...boxes.map(({x}) => x));
  const right = Math.max(...boxes.map(({x, width}) => x + width));
  return `M${left},3.5H${right}`;
}
