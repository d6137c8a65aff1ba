/* The memory of a long prompt: its segments as a row, and how much the chosen one recalls of each before it. The last
 * segment is in the window. A scene whose prompt is read whole has no memory, and nothing is shown. */

import {button, clamp, make, obey} from "./dom.js";

const FEW_CHARACTERS = 300;
const TOLD_SHARE = 0.005; // what rounds to 0 % is not told
const LABELLED = 2; // so many of the largest shares have their number without pointing at them
const sharesOf = ({first_memory, weights}) =>
  weights.map((weight, at) => ({at: first_memory + at, weight})).sort((one, other) => other.weight - one.weight);

export class MemoryRow {
  /* chosen: the place of the segment to begin with; null for the last one. */
  constructor(viewer, chosen = null) {
    const {say} = viewer;
    this.viewer = viewer;
    this.chosen = chosen;
    this.title = make("b", {});
    this.row = make("div", {class: "dsbd-memory-row", role: "radiogroup", "aria-label": say("memory.strip")});
    this.row.addEventListener("keydown", (event) => this.onKey(event));
    this.said = make("p", {class: "dsbd-memory-said", "aria-live": "polite"});
    this.legend = make("p", {class: "dsbd-hint dsbd-memory-legend"});
    this.name = make("p", {class: "dsbd-fact-title"});
    this.text = make("p", {class: "dsbd-line dsbd-memory-text", dir: "auto"});
    this.fold = button({class: "dsbd-memory-fold", onclick: () => this.unfold(!this.unfolded)});
    this.element = make(
      "section",
      {class: "dsbd-memory", "aria-label": say("memory.label"), hidden: ""},
      this.title,
      this.row,
      make("div", {}, this.legend, this.said, make("p", {class: "dsbd-hint", text: say("memory.law")})),
      make("div", {class: "dsbd-memory-read"}, this.name, this.text, this.fold),
    );
  }

  /* Builds again only if the memory is another one: a frame of a running decode leaves the focus where it is. */
  update() {
    const {memory} = this.viewer.scene;
    this.element.hidden = !memory;
    const key = memory ? JSON.stringify(memory) : "";
    if (!memory || this.drawn === key) return;
    if (this.drawn) this.chosen = null;
    this.drawn = key;
    this.segments = memory.segments;
    this.build(memory);
    this.choose(Math.min(this.chosen ?? Infinity, this.segments.length - 1));
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
    this.cells.forEach(({entry, share, bar}, place) => {
      const weight = weightOf.get(place);
      const told = weight === undefined ? "" : percent(weight);
      share.textContent = told.replace("\u202f", ""); // a cell is narrow
      bar.style.height = `${100 * (weight ?? 0)}%`;
      bar.hidden = weight === undefined;
      entry.classList.toggle("dsbd-memory-large", labelled.includes(place) && weight >= TOLD_SHARE);
      entry.classList.toggle("dsbd-memory-unread", place > at);
      const {tokens} = this.segments[place];
      const parts = [say("memory.segment", {segment: place + 1, tokens: words.counted("tokens", tokens)})];
      if (place === this.cells.length - 1) parts.push(say("memory.window"));
      if (told) parts.push(say("memory.share", {share: told, segment}));
      entry.title = parts.join(", ");
      entry.setAttribute("aria-label", entry.title);
      entry.setAttribute("aria-checked", place === at);
      entry.tabIndex = place === at ? 0 : -1;
    });
    this.said.textContent = this.sentence(segment, shares);
    this.name.textContent = say("memory.text", {segment});
    this.unfold(false);
  }

  sentence(segment, [most, next]) {
    const {say} = this.viewer;
    if (!most) return say("memory.none", {segment});
    const values = {segment, first: most.at + 1, share: percent(most.weight)};
    if (!next || next.weight < TOLD_SHARE) return say("memory.one", values);
    return say("memory.two", {...values, second: next.at + 1, other: percent(next.weight)});
  }

  unfold(unfolded) {
    const {text} = this.segments[this.chosen];
    const characters = [...text];
    const isLong = characters.length > FEW_CHARACTERS;
    this.unfolded = unfolded;
    this.text.textContent = isLong && !unfolded ? `${characters.slice(0, FEW_CHARACTERS).join("")}…` : text;
    this.fold.hidden = !isLong;
    this.fold.textContent = this.viewer.say(unfolded ? "memory.less" : "memory.all");
    this.fold.setAttribute("aria-expanded", unfolded);
  }

  onKey(event) {
    const last = this.cells.length - 1;
    const to = (place) => () => {
      this.choose(clamp(place, 0, last));
      this.cells[this.chosen].entry.focus();
    };
    const [back, on] = [to(this.chosen - 1), to(this.chosen + 1)];
    obey(event, {ArrowLeft: back, ArrowUp: back, ArrowRight: on, ArrowDown: on, Home: to(0), End: to(last)});
  }
}

/* A share of 0 to 1 for a sentence; what is more than nothing is not told as 0. */
function percent(share) {
  if (share > 0 && share < TOLD_SHARE) return "<\u20601\u202f%";
  return `${Math.round(100 * share)}\u202f%`;
}
