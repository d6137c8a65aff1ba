/* The memory of a long prompt: its segments as a row, and how much the chosen one recalls of each before it. The last
 * segment is in the window. A scene whose prompt is read whole has no memory, and nothing is shown. */

import {button, clamp, keysOf, make, obey} from "./dom.js";

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
