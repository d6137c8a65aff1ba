/* The time machine: first, back, play, forward, last; and a bar of phases to jump to. The lanes lead to the passes. */

import {button, glyph, iconButton, make, obey} from "./dom.js";

const PLAY_MS = 1100;

export class Controls {
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = null;
    const {say} = viewer;
    const control = (name, act) => iconButton(name, say(`ui.${name}`), act, {class: `dsbd-${name}`});
    this.play = control("play", () => this.toggle());
    this.stepCount = make("span", {class: "dsbd-count dsbd-count-step", title: say("ui.step")});
    this.iterationCount = make("span", {class: "dsbd-count dsbd-count-iteration", title: say("ui.iteration")});
    this.phases = make("div", {class: "dsbd-phases", role: "group", "aria-label": say("ui.phases")});
    this.element = make(
      "div",
      {class: "dsbd-controls", role: "group", "aria-label": say("ui.step")},
      control("first", () => this.go(0)),
      control("back", () => this.move(-1)),
      this.play,
      control("forward", () => this.move(1)),
      control("last", () => this.go(Infinity)),
      make("span", {class: "dsbd-counts"}, this.iterationCount, this.stepCount),
    );
  }

  go(step) {
    this.stop();
    this.viewer.goto({step});
  }

  /* One step on or back, also into the next or previous iteration. Returns false at either end. */
  move(by, playing = false) {
    if (!playing) this.stop();
    const {viewer} = this;
    const [step, it] = [viewer.step + by, viewer.it + by];
    const isInside = step >= 0 && step < viewer.now.steps.length;
    if (!isInside && !viewer.scene.iterations[it]) return false;
    const node = viewer.isExample ? null : undefined;
    viewer.goto(isInside ? {step, node} : {it, step: by > 0 ? 0 : Infinity});
    return true;
  }

  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    this.timer = setInterval(() => this.move(1, true) || this.stop(), PLAY_MS);
    this.showPlaying(true);
  }

  stop() {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }

  showPlaying(playing) {
    const name = this.viewer.say(playing ? "ui.pause" : "ui.play");
    this.play.replaceChildren(glyph(playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", name);
    this.play.title = name;
    this.viewer.parts.sentence.setAttribute("aria-live", playing ? "off" : "polite"); // no sentence every second
  }

  /* One segment for each phase, and for each layer of the verification; more steps make it longer. */
  build() {
    const {now, say} = this.viewer;
    this.runs = now.phases();
    const chosen = this.runs.find((run) => run.layer);
    this.phases.replaceChildren(
      ...this.runs.map((run) => {
        const name = say(`bar.${run.phase}`);
        const label = run.layer ? `${name}: ${say("layer.title", {layer: run.layer})}` : name;
        const text = !run.layer ? name : run === chosen ? `${name} ${run.layer}` : run.layer;
        const onclick = () => this.go(run.from);
        const kind = `dsbd-phase dsbd-phase-${run.phase}`;
        const segment = button({class: kind, title: label, "aria-label": label, onclick}, make("span", {text}));
        segment.style.flexGrow = Math.sqrt(run.to - run.from + 1);
        return segment;
      }),
    );
  }

  update() {
    const {viewer} = this;
    const of = (current, count) => viewer.say("ui.of", {current, count});
    const pass = of(viewer.it + 1, viewer.scene.iterations.length);
    this.iterationCount.textContent = `${viewer.say("ui.iteration")} ${pass}`;
    this.stepCount.textContent = of(viewer.step + 1, viewer.now.steps.length);
    this.runs.forEach((run, at) => {
      const here = viewer.step >= run.from && viewer.step <= run.to;
      this.phases.children[at].classList.toggle("dsbd-current", here);
      this.phases.children[at].setAttribute("aria-current", here ? "step" : "false");
    });
  }
}

/* Keys of the focused viewer: steps, iterations, play. */
export function onKey(viewer, event) {
  if (event.defaultPrevented || !viewer.scene?.iterations.length) return;
  const {controls} = viewer;
  const {tagName, type} = event.target;
  const isSpace = event.key === " ";
  if (/^(SELECT|TEXTAREA)$/.test(tagName) || (isSpace && /^(BUTTON|SUMMARY)$/.test(tagName))) return;
  if (tagName === "INPUT" && !(isSpace && type === "range")) return;
  const turn = (by) => {
    controls.stop();
    viewer.goto({it: viewer.it + by, step: 0});
  };
  obey(event, {
    ArrowLeft: () => controls.move(-1),
    ArrowRight: () => controls.move(1),
    Home: () => controls.go(0),
    End: () => controls.go(Infinity),
    PageUp: () => turn(-1),
    PageDown: () => turn(1),
    " ": () => controls.toggle(),
    Escape: () => (viewer.game.isOpen ? viewer.game.close() : viewer.pin(-1)),
  });
}

/* ---- the place in the address: #iteration=4&step=10&node=17, iterations and steps counted from 1 ---------------- */

const PAUSE_MS = 120; // browsers ignore addresses that are written faster than this for long
/** @type {[string, [string, number]][]} */
const FIELDS = Object.entries({iteration: ["it", 1], step: ["step", 1], node: ["node", 0]});

/** The place that a text like iteration=4&step=10 names. Inside the viewer, all count from 0.
 * @returns {{it?: number, step?: number, node?: number}} */
export function placeIn(text) {
  const query = new URLSearchParams(text);
  const named = FIELDS.filter(([field]) => /^\d{1,9}$/.test(query.get(field)));
  return Object.fromEntries(named.map(([field, [name, first]]) => [name, Number(query.get(field)) - first]));
}

export class Place {
  read() {
    return placeIn(location.hash.slice(1));
  }

  /* Writes at most once per pause, and the last place always: that is where a key that was held down is let go. */
  write(place) {
    clearTimeout(this.later);
    const wait = (this.written ?? -PAUSE_MS) + PAUSE_MS - performance.now();
    if (wait > 0) this.later = setTimeout(() => this.put(place), wait);
    else this.put(place);
  }

  /* Keeps everything else in the address. */
  put(place) {
    this.written = performance.now();
    const query = new URLSearchParams(location.hash.slice(1));
    for (const [field, [name, first]] of FIELDS) {
      if (place[name] === null) query.delete(field);
      else query.set(field, place[name] + first);
    }
    try {
      history.replaceState(null, "", `#${query}`);
    } catch {
      /* a frame without an address */
    }
  }
}
