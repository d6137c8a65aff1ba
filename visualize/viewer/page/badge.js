/* The evidence badge: it checks all decisions of the trace again, and names the first that does not follow. A scene has
 * not the numbers for every check; dsbd/tracing/audit.py made the others when it was packed, and the badge says so. */

import {button, glyph, make} from "../base/dom.js";
import {conclusion, recheck} from "../law/audit.js";
import {Iteration} from "../forest/iteration.js";

const SLICE_MS = 8; // one slice of checking, so that the page stays responsive

export class Badge {
  constructor(viewer) {
    this.viewer = viewer;
    this.checked = new WeakMap();
    this.element = button({class: "dsbd-badge", hidden: "", onclick: () => this.open()});
    this.told = make("p", {class: "dsbd-small", hidden: ""}); // in the fold: what was checked, and by whom
  }

  /* Starts over, but checks no iteration twice. */
  start() {
    clearTimeout(this.later);
    this.failure = null;
    const {scene} = this.viewer;
    const {lossless = true, width_threshold: threshold} = scene.settings;
    this.element.hidden = threshold === undefined || !scene.iterations.length || !(lossless || scene.evidence);
    this.told.hidden = this.element.hidden;
    if (!this.element.hidden) this.go(0);
  }

  go(it) {
    const {viewer} = this;
    const {scene} = viewer;
    const end = performance.now() + SLICE_MS;
    for (; it < scene.iterations.length; it++) {
      const packed = scene.iterations[it];
      if (!this.checked.has(packed)) {
        if (performance.now() > end) {
          this.later = setTimeout(() => this.go(it), 1);
          return;
        }
        this.checked.set(packed, recheck(viewer.opened.get(packed) ?? new Iteration(packed), scene.settings));
      }
      if (this.checked.get(packed).failure) break;
    }
    const reports = scene.iterations.slice(0, it + 1).map((packed) => this.checked.get(packed));
    this.show(conclusion(reports, scene.evidence));
  }

  show({checks, failure, told}) {
    const {element, viewer} = this;
    const {say} = viewer;
    this.failure = failure;
    const otherwise = told ? say("evidence.told", {failure: told}) : say("evidence.passed", {count: checks});
    const meaning = [say("evidence.meaning"), viewer.scene.evidence ? say("evidence.packed") : ""];
    element.classList.toggle("dsbd-failed", Boolean(failure || told));
    const verdict = failure ? this.named(failure) : otherwise;
    element.title = verdict;
    element.replaceChildren(glyph(failure || told ? "failed" : "passed"), make("span", {text: verdict}));
    this.told.textContent = `${verdict}. ${meaning.join(" ").trim()}`;
  }

  named({it, layer, what, place}) {
    const {viewer} = this;
    const iteration = new Iteration(viewer.scene.iterations[it]);
    const node = iteration.nodes[place];
    return viewer.say("evidence.failed", {
      index: iteration.number,
      layer,
      what: viewer.say(`evidence.${what}`, {token: node ? `“${viewer.labelOf(node)}”` : ""}),
    });
  }

  /* Goes to the decision that does not follow. */
  open() {
    if (!this.failure) return;
    const {it, layer, place, what} = this.failure;
    const {viewer} = this;
    viewer.goto({it, layer});
    const step = viewer.now.steps.findIndex(
      (entry) => entry.layer === layer && entry.focus === place && entry.phase === what,
    );
    if (step >= 0) viewer.goto({step});
  }
}
