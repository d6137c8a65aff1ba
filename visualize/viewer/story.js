/* The opening story of a decode: first the two lanes, where guessing won something; then eight seconds on the first
 * iteration: the prompt, the guesses, one sweep of light over all of them, what is kept and what is crossed out, and
 * the tokens that one pass won. It plays once and stops at the end of that pass. Any input of the reader stops it; the
 * play button pauses it. */

import {calm} from "./dom.js";
import {LANES_MS} from "./lanes.js";
import {STYLES} from "./marks.js";

const INPUTS = ["pointerdown", "keydown", "wheel", "touchstart"];
const GUESS_MS = 2400;
const CHOOSE_MS = 2200;
const OPENING_MS = 900;
const CHECK_MS = 1400;
const KEEP_MS = 1700;
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
    const beats = viewer.strip.lanes.race ? [{...LANES, it: 0, step: last}] : [];
    if (calm()) return this.begin(beats.map((beat) => ({...beat, wait: Infinity, step: 0})));
    beats.push({wait: OPENING_MS, step: 0, say: "story.prompt", mood: "prompt"});
    const spread = (from, to, whole, say) => {
      for (let step = from; step < to; step++) beats.push({wait: whole / (to - from), step, say});
    };
    spread(0, scored, GUESS_MS, "story.guess");
    beats.push({wait: CHECK_MS, step: scored, say: "story.check", mood: "check"});
    spread(scored + 1, last, CHOOSE_MS, "story.choose");
    beats.push({wait: KEEP_MS, step: last, say: "story.keep", mood: "keep"});
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
    this.sentence = told(viewer, say);
    viewer.root.dataset.story = mood ?? "on";
    viewer.goto({it, step});
    const {lanes} = viewer.strip;
    if (mood === "lanes") lanes.play();
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
function told({now, say, words}, key) {
  if (key !== "story.choose") return say(key, {layers: words.counted("tokens", now.layers.length)});
  const {kept, dropped} = STYLES;
  const parts = {"story.choose": kept.states, "story.crossed": dropped.states, "story.picked": ["recovered", "fresh"]};
  const states = new Set(now.steps.flatMap(({changes}) => changes.map(({state}) => state)));
  return Object.keys(parts)
    .filter((part) => parts[part].some((state) => states.has(state)))
    .map((part) => say(part))
    .join(" ");
}
