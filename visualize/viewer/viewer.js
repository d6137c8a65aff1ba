/* The viewer: draws a trace and steps through it. No framework.
 *
 *   const viewer = DsbdViewer.mount(element, trace, {hash, start, bare, language, onchange, oncontinue,
 *     tools, below});
 *   viewer.setTrace(trace, {follow: true});  viewer.setTrace(trace, {it: 1, morph: true});
 *   viewer.add(iterations, {result, follow: true});
 *   viewer.goto({it: 2, step: 1});  viewer.move(1);  viewer.destroy();
 *
 * A trace is the plain data of dsbd-trace/2 (Trace.to_dict() in Python). It may grow: without a result, with no
 * iterations at first. `add` takes the next records, and the result once there is one. `follow` goes to the newest
 * step; else the reader stays.
 *
 * where(): the reader's {it, step, node}, and how many {iterations, steps} there are; goto counts from 0, too.
 * words: the first and the last word of its pass, from 1.
 * text(): the best text so far, {prompt, tokens: [{text, origin}], ended}.   picture(): saves the forest as a PNG.
 * lanes(): plays the two lanes once.   clock(): what they show (lanes.js).
 * setCosts({alone, node, guess}): what passes cost, in seconds, where that was measured.
 * cutFill({it, layer}): an element, why nothing is lost, as a picture of one layer that the reader drags.
 *
 * bare: sentence, forest and card only, for slides. language: at first; else the reader's choice on this site, else the
 * page's. hash: true keeps the place in the address of the page. start: the place where the address names none, such as
 * iteration=4&step=10, counted from 1. oncontinue(text): offered in the card of a token, the version up to it; the page
 * lets it go on. tools, below: elements that stand beside the views, and below the forest. Token
 * text is untrusted: it enters the page as text only. */

import {drawCard, drawFormula} from "./card.js";
import {Controls, Place, onKey, placeIn} from "./controls.js";
import {STYLES, clamp, dress, guest, make, markOf, watchTheme} from "./dom.js";
import {Forest} from "./forest.js";
import {Lanes} from "./lanes.js";
import {MemoryRow} from "./memory.js";
import {Scene} from "./scene.js";
import {buildShell, drawLegend, savePng} from "./shell.js";
import {Game, cutFill} from "./turn.js";
import {Words, remembered} from "./words.js";

export function mount(element, trace, options = {}) {
  const viewer = new Viewer(element, options);
  viewer.setTrace(trace);
  return {
    setTrace: (next, how) => viewer.setTrace(next, how),
    add: (iterations, how) => viewer.add(iterations, how),
    goto: (place) => {
      viewer.game?.close();
      viewer.goto(place);
    },
    move: (by) => viewer.controls.move(by),
    lanes: () => viewer.lanes.play(),
    clock: () => viewer.lanes.clock,
    setCosts: (costs) => viewer.lanes.setCosts(costs),
    picture: () => savePng(viewer),
    cutFill: ({it, layer}) => guest(viewer, cutFill(viewer, viewer.scene.iterations[it].layer(layer))),
    show: (view) => viewer.parts.views.show(view),
    text: () => viewer.scene.text(),
    where: () => viewer.where(),
    destroy: () => viewer.destroy(),
  };
}

const NOWHERE = {it: 0, step: 0, node: null, iterations: 0, steps: 0, words: [0, 0]};

/* One viewer: holds the scene and the place in it, and updates its parts. It decides nothing about the decode. */
class Viewer {
  constructor(element, options) {
    this.element = element;
    this.options = options;
    this.formulas = false; // whether the folded formulas are open
    this.scene = null;
    this.it = this.step = 0;
    this.hovered = this.pinned = -1;
    this.drawn = null; // the iteration that the parts show
    this.say = (key, values) => this.words.say(key, values);
    this.root = make("section", {class: "dsbd", tabindex: "0"});
    this.root.addEventListener("keydown", (event) => onKey(this, event));
    element.replaceChildren(this.root);
    this.place = options.hash ? new Place() : null;
    this.cleanup = [watchTheme(element, (theme) => dress(this.root, theme)), this.watchSize(), this.watchHash()];
  }

  get now() {
    return this.scene.iterations[this.it];
  }

  /* The label of a node. The end of the prompt has no token; that of a text is a sign. */
  labelOf(node, field = "label") {
    if (node.id === 0) return this.say("node.prompt");
    return node.ends && field === "label" ? "∎" : node[field];
  }

  /* How a state is shown: its mark, the look of that, and its name. */
  mark(state) {
    const mark = markOf(state);
    return {mark, style: STYLES[mark], name: this.say(`mark.${mark}`)};
  }

  /* Two notes on a node, each may be empty: how often it counts, and that it is in the final text. */
  notesOf(node, look) {
    return [
      look.multiplicity > 1 ? this.say("node.multiplicity", {count: look.multiplicity}) : "",
      this.scene.becomes(node, look) ? this.say("node.final") : "",
    ];
  }

  /* The place of the node that the reader looks at: pointed at, else clicked, else that of the step; -1 for none. */
  get pointed() {
    if (this.hovered >= 0) return this.hovered;
    return this.pinned >= 0 ? this.pinned : this.now.steps[this.step].focus;
  }

  /* it: the pass to stand at, one step before its end; morph: what both forests have moves to its new place. */
  setTrace(trace, {it = -1, morph = false, follow = false} = {}) {
    const before = morph && this.forest.places();
    this.isNew = !this.scene;
    this.scene = new Scene(trace);
    this.update({follow});
    if (it < 0) return;
    this.goto({it, step: Infinity});
    this.goto({step: this.step - 1});
    if (before) this.forest.morph(before);
  }

  /* The trace goes on. */
  add(iterations, {result = null, ...how} = {}) {
    this.scene.add(iterations);
    if (result) this.scene.end(result);
    this.update(how);
  }

  /* `follow` goes to the newest step. */
  update({follow = false} = {}) {
    const {scene, isNew, words, options} = this;
    this.news = true;
    const language = words?.language ?? options.language ?? remembered() ?? (document.documentElement.lang || "en");
    if (words?.isCopied !== scene.isCopied) this.build(language);
    const last = scene.iterations.length - 1;
    const {parts} = this;
    parts.empty.hidden = last >= 0;
    parts.body.hidden = last < 0;
    parts.title.textContent = [scene.settings.method, scene.models.join(" + ")].filter(Boolean).join(" · ");
    this.memory.update();
    if (last < 0) {
      this.drawn = null;
      return;
    }
    this.isNew = false;
    if (isNew && !follow && (this.place || this.options.start)) {
      const asked = this.place?.read() ?? {};
      this.goto(Object.keys(asked).length ? asked : placeIn(this.options.start ?? ""));
      return;
    }
    this.goto({it: follow ? last : clamp(this.it, 0, last), step: follow ? Infinity : this.step, keep: true});
  }

  /* it, step: places from 0. node: the id of a node to keep in view; isExample: until the reader goes on. */
  goto({it = this.it, step = this.step, node = undefined, keep = false, isExample = false} = {}) {
    if (!this.scene?.iterations.length) return;
    this.it = clamp(Math.round(it) || 0, 0, this.scene.iterations.length - 1);
    this.step = clamp(Math.round(step) || 0, 0, this.now.steps.length - 1);
    if (!keep) this.hovered = -1;
    if (this.drawn !== this.now || node !== undefined) {
      this.pinned = this.now.nodes.findIndex((entry) => entry.id === node);
      this.isExample = isExample;
      this.root.classList.toggle("dsbd-pinned", this.pinned >= 0);
    }
    this.render();
    this.changed();
  }

  where() {
    if (!this.scene?.iterations.length) return NOWHERE;
    const {it, step, now, scene} = this;
    const {first, last} = scene.bands[it];
    const counts = {iterations: scene.iterations.length, steps: now.steps.length, words: [first, last]};
    return {it, step, node: now.nodes[this.pinned]?.id ?? null, ...counts};
  }

  changed() {
    const place = this.where();
    this.place?.write(place);
    this.options.onchange?.(place);
  }

  setLanguage(language) {
    this.build(language);
    this.update();
  }

  /* Stops what runs on a timer; the parts must be drawn again. */
  halt() {
    this.controls?.stop();
    this.drawn = null;
  }

  destroy() {
    this.halt();
    this.cleanup.forEach((undo) => undo());
    this.root.remove();
    this.scene = null;
  }

  watchSize() {
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (this.root.clientWidth === width) return;
      width = this.root.clientWidth;
      if (!this.drawn) return;
      this.news = true;
      this.forest.build();
      this.render();
    });
    observer.observe(this.root);
    return () => observer.disconnect();
  }

  watchHash() {
    if (!this.place) return () => {};
    const follow = () => this.goto(this.place.read());
    globalThis.addEventListener("hashchange", follow);
    return () => {
      clearTimeout(this.place.later);
      globalThis.removeEventListener("hashchange", follow);
    };
  }

  build(language) {
    this.halt();
    this.words = new Words(language, this.scene.isCopied);
    this.root.lang = this.words.language;
    this.root.dir = this.words.table.direction;
    this.root.setAttribute("aria-label", this.say("ui.viewer"));
    this.controls = new Controls(this);
    this.forest = new Forest(this);
    const {costs = null} = this.lanes ?? {};
    this.lanes = Object.assign(new Lanes(this), {costs});
    this.game = new Game(this);
    this.memory = new MemoryRow(this);
    this.parts = buildShell(this, this.parts?.views);
  }

  render() {
    const {parts: p, now} = this;
    const step = now.steps[this.step];
    const changed = this.drawn !== now;
    const {news} = this;
    this.drawn = now;
    this.news = false;
    this.look = now.looksAt(this.step);
    if (changed) {
      this.game.close();
      this.controls.build();
      this.forest.build();
    }
    if (changed || news) drawLegend(this, p.legend);
    this.lanes.update(news);
    this.controls.update();
    p.sentence.textContent = this.words.step(now, this.step, this.scene.settings);
    drawFormula(this, p.formula);
    this.forest.update();
    this.forest.body.setAttribute("aria-label", this.altText());
    drawCard(this, p.card);
    p.views.update(changed);
    this.forest.bringIntoView(this.placeToShow(step), this.pinned < 0 && step.layer, changed);
  }

  /* The node to look at: the one that was clicked, that of the step, else the likeliest beam the layer yielded, else
   * the first input beam. */
  placeToShow(step) {
    if (this.pinned >= 0) return this.pinned;
    if (step.focus >= 0) return step.focus;
    const {nodes} = this.now;
    const isSettled = (node) => (step.phase === "commit" ? node.kept : node.column === step.layer);
    const settled = nodes.filter((node, at) => this.look[at]?.multiplicity && isSettled(node));
    settled.sort((one, other) => other.column - one.column || (other.target_prob ?? 0) - (one.target_prob ?? 0));
    return Math.max(0, nodes.indexOf(settled[0]));
  }

  /* The drawing in a sentence: how many nodes in how many layers, and what became of them. */
  altText() {
    const looks = this.look.filter((look) => look && look.state !== "input");
    const names = looks.map(({state}) => this.mark(state).name);
    const times = (name) => names.filter((one) => one === name).length;
    const states = [...new Set(names)].map((name) => `${times(name)} ${name}`).join(", ");
    const {words, now} = this;
    const counts = {nodes: words.counted("nodes", names.length), layers: words.counted("tokens", now.last_column)};
    return this.say("ui.alt", {index: now.number, ...counts, states});
  }

  hover(place) {
    if (place === this.hovered || (place >= 0 && !this.look[place])) return;
    this.hovered = place;
    drawCard(this, this.parts.card);
    this.parts.views.update();
  }

  pin(place) {
    this.pinned = place;
    this.isExample = false;
    this.root.classList.toggle("dsbd-pinned", place >= 0);
    this.forest.update();
    drawCard(this, this.parts.card);
    this.parts.views.update();
    this.changed();
  }
}
