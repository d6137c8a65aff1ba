/* The time machine: first, back, play, forward, last; a bar of phases to jump to; a slider of iterations. */

import {STYLES, button, calm, glyph, iconButton, make, obey} from "./dom.js";
import {LANES_MS} from "./lanes.js";

const PLAY_MS = 1100;

export class Controls {
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = null;
    const {say} = viewer;
    const control = (name, act) => iconButton(name, say(`ui.${name}`), act, {class: `dsbd-${name}`});
    this.play = control("play", () => this.toggle());
    this.stepCount = make("span", {class: "dsbd-count dsbd-count-step", title: say("ui.step")});
    this.iterationCount = make("span", {class: "dsbd-count dsbd-count-iteration"});
    this.phases = make("div", {class: "dsbd-phases", role: "group", "aria-label": say("ui.phases")});
    this.element = make(
      "div",
      {class: "dsbd-controls", role: "group", "aria-label": say("ui.step")},
      control("first", () => this.go(0)),
      control("back", () => this.move(-1)),
      this.play,
      control("forward", () => this.move(1)),
      control("last", () => this.go(Infinity)),
      this.stepCount,
    );
    const goTo = (event) => {
      this.stop();
      viewer.goto({it: Number(event.target.value) - 1, step: 0});
    };
    // Readers count from 1.
    this.iterations = make("input", {type: "range", min: 1, step: 1, "aria-label": say("ui.iteration"), oninput: goTo});
    this.scrub = make(
      "div",
      {class: "dsbd-scrub"},
      make("span", {class: "dsbd-name", text: say("ui.iteration")}),
      make("div", {class: "dsbd-track"}, this.iterations),
      this.iterationCount,
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
    viewer.goto(isInside ? {step} : {it, step: by > 0 ? 0 : Infinity});
    return true;
  }

  /* Pauses the opening story, too; for who wants no movement it stands still already. */
  toggle() {
    const {story} = this.viewer;
    const isTelling = story.sentence !== null && !calm();
    story.stop();
    if (isTelling) return;
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

  update(sentence) {
    const {viewer} = this;
    const iterations = viewer.scene.iterations.length;
    this.iterations.max = iterations;
    this.iterations.value = viewer.it + 1;
    const of = (current, count) => viewer.say("ui.of", {current, count});
    this.iterations.setAttribute("aria-valuetext", `${of(viewer.it + 1, iterations)}. ${sentence}`);
    this.stepCount.textContent = of(viewer.step + 1, viewer.now.steps.length);
    this.iterationCount.textContent = of(viewer.it + 1, iterations);
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

/* The opening story of a decode: first the two lanes, where guessing won something; then eight seconds on the first
 * iteration: the prompt, the guesses, one sweep of light over all of them, what is kept and what is crossed out, and
 * the tokens that one pass won. It plays once and stops at the end of that pass. Any input of the reader stops it; the
 * play button pauses it. */
const INPUTS = ["pointerdown", "keydown", "wheel", "touchstart"];
const MS = {opening: 900, guess: 2400, check: 1400, choose: 2200, keep: 1700};
const LANES = {wait: LANES_MS, say: "story.lanes", mood: "lanes"};

export class Story {
  constructor(viewer) {
    this.viewer = viewer;
    this.told = false;
    this.sentence = null; // shown in place of the step's sentence
  }

  /* Returns false if it does not start: it was told before, or there is nothing to tell. Who wants no movement sees the
   * end of the two lanes, until the first input. */
  start() {
    const {viewer} = this;
    const first = viewer.scene?.iterations[0];
    if (this.told || !first) return false;
    this.told = true;
    viewer.controls.stop();
    viewer.goto({it: 0, step: 0});
    const scored = viewer.now.scoredStep;
    const last = viewer.now.steps.length - 1;
    /** @type {any[]} */
    const beats = viewer.strip.lanes.race ? [{...LANES, it: 0, step: last, mood: "opening"}] : [];
    if (calm()) return this.begin(beats.map((beat) => ({...beat, wait: Infinity, step: 0, mood: "lanes"})));
    beats.push({wait: MS.opening, step: 0, say: "story.prompt", mood: "prompt"});
    const spread = (from, to, whole, say) => {
      for (let step = from; step < to; step++) beats.push({wait: whole / (to - from), step, say});
    };
    spread(0, scored, MS.guess, "story.guess");
    beats.push({wait: MS.check, step: scored, say: "story.check", mood: "check"});
    spread(scored + 1, last, MS.choose, "story.choose");
    beats.push({wait: MS.keep, step: last, say: "story.keep", mood: "keep"});
    return this.begin(beats);
  }

  /* The two lanes once more; the forest stays where it is. */
  again() {
    const {it, step, strip} = this.viewer;
    if (!strip.lanes.race) return;
    this.viewer.controls.stop();
    this.begin([{...LANES, wait: calm() ? Infinity : LANES_MS, it, step}]);
  }

  begin(beats) {
    const {viewer} = this;
    if (!beats.length) return false;
    this.end = (event) => viewer.controls.play.contains(event.target) || this.stop();
    for (const name of INPUTS) document.addEventListener(name, this.end, {capture: true, passive: true});
    viewer.controls.showPlaying(!calm());
    this.tell(beats, 0);
    return true;
  }

  tell(beats, at) {
    const {viewer} = this;
    if (at === beats.length) {
      this.stop();
      if (beats[at - 1].mood === "keep") viewer.root.classList.add("dsbd-waiting");
      return;
    }
    const {wait, it = 0, step, say, mood} = beats[at];
    this.sentence = sentenceOf(viewer, say);
    viewer.root.dataset.story = mood ?? "on";
    viewer.goto({it, step});
    const {lanes} = viewer.strip;
    if (["lanes", "opening"].includes(mood)) lanes.play();
    else lanes.stop();
    if (wait < Infinity) this.later = setTimeout(() => this.tell(beats, at + 1), wait);
  }

  stop() {
    if (this.sentence === null) return;
    clearTimeout(this.later);
    for (const name of INPUTS) document.removeEventListener(name, this.end, {capture: true});
    const {viewer} = this;
    viewer.strip.lanes.stop();
    this.sentence = null;
    delete viewer.root.dataset.story;
    if (!viewer.scene) return;
    viewer.controls.showPlaying(false);
    viewer.render();
    viewer.changed();
  }
}

/* A sentence of the story. What is chosen is told as it was in this iteration. */
function sentenceOf({now, say, words}, key) {
  if (key !== "story.choose") return say(key, {layers: words.counted("tokens", now.layers.length)});
  const {kept, dropped} = STYLES;
  const parts = {"story.choose": kept.states, "story.crossed": dropped.states, "story.picked": ["recovered", "fresh"]};
  const states = new Set(now.steps.flatMap(({changes}) => changes.map(({state}) => state)));
  return Object.keys(parts)
    .filter((part) => parts[part].some((state) => states.has(state)))
    .map((part) => say(part))
    .join(" ");
}
