/* Cut and fill, why nothing is lost: the large model's probabilities as outlines, the small model's bars over them.
 * What sticks out is cut, what is kept is green, the gap is filled amber. The reader drags the small model: green
 * shrinks, and the outline never moves. The distribution is that of the trials, for the first guess of a layer. */

import {bar, gauge} from "./card.js";
import {button, clamp, iconButton, make} from "./dom.js";
import {acceptanceOf, chainOf, residualOf} from "./distribution.js";
import {Panel} from "./panels.js";
import {enough, number} from "./words.js";

const LEAST = 0.6; // how much of the height the largest probability leaves free, at least
const STEP = 0.005;
const SEEN = 0.005; // a smaller cut or fill is not named

/* The likeliest candidates of a layer, and all others as one: [{name, target, draft}]; null where no guess is tried.
 * The others differ among themselves. What the recorded distribution cuts and fills in all says how much: `gap`, what
 * of their target the draft misses, and `off`, the part of their draft that misses the target. */
export function barsOf(layer, others) {
  const bins = layer?.kind === "draft" ? layer.alternatives : [];
  if (!bins.some((bin) => bin.draft > 0)) return null;
  const sum = (of) => bins.reduce((before, bin) => before + of(bin), 0);
  const target = Math.max(0, 1 - sum((bin) => bin.target));
  const draft = Math.max(0, 1 - sum((bin) => bin.draft));
  const kept = 1 - (layer.chain_S[1] ?? 0) - sum((bin) => shares(bin).kept);
  const both = clamp(kept, 0, Math.min(target, draft));
  return [...bins, {name: others, target, draft, gap: target - both, off: draft > 0 ? 1 - both / draft : 0}];
}

/* A bin as parts that each have one ratio of their probabilities. */
const partsOf = ({target, draft, gap = 0, off = 0}) => [
  {target: target - gap, draft: draft * (1 - off)},
  {target: gap, draft: 0},
  {target: 0, draft: draft * off},
];

/* What becomes of the guesses of each bin: kept, cut off, filled in. */
export function shares(bin) {
  const sum = (of) => partsOf(bin).reduce((before, part) => before + of(part), 0);
  return {
    kept: sum(({target, draft}) => (draft > 0 ? draft * acceptanceOf(residualOf(target, draft, 0, 1), draft) : 0)),
    cut: sum(({target, draft}) => residualOf(draft, target, 1, 1)),
    filled: sum(({target, draft}) => residualOf(target, draft, 1, 1)),
  };
}

/* width: how many the layer keeps, where that is chosen. */
class CutFill {
  constructor(say, bins, width = null) {
    this.say = say;
    this.recorded = bins;
    this.top = Math.min(1, Math.max(...bins.map((bin) => Math.max(bin.target / LEAST, bin.draft))));
    this.columns = bins.map((bin, at) => this.column(bin, at));
    this.result = make("p", {class: "dsbd-cut-said", "aria-live": "polite"});
    this.element = make(
      "div",
      {class: "dsbd-cut"},
      make("p", {class: "dsbd-hint", text: say("cut.lead")}),
      make("div", {class: "dsbd-cut-bars"}, ...this.columns.map(({element}) => element)),
      this.result,
      make("p", {class: "dsbd-cut-always", text: say("cut.always")}),
      ...(width === null ? [] : [make("p", {class: "dsbd-cut-always", text: say("cut.width", {width})})]),
      button({class: "dsbd-cut-reset", text: say("cut.reset"), onclick: () => this.reset()}),
    );
    this.reset();
  }

  column({name, target}, at) {
    const part = (kind) => make("div", {class: `dsbd-cut-${kind}`});
    const parts = Object.fromEntries(["kept", "filled", "off", "note", "grip"].map((kind) => [kind, part(kind)]));
    const outline = part("outline");
    outline.style.height = this.share(target);
    const drag = (event) => {
      if (event.pointerType === "touch" || !event.buttons) return;
      const box = field.getBoundingClientRect();
      this.set(at, (this.top * (box.bottom - event.clientY)) / box.height);
    };
    const drags = {onpointerdown: drag, onpointermove: drag};
    const field = make("div", {class: "dsbd-cut-field", ...drags}, ...Object.values(parts), outline);
    const oninput = () => this.set(at, Number(input.value));
    const range = {type: "range", min: 0, max: this.top, step: STEP};
    const input = make("input", {...range, "aria-label": this.say("cut.bar", {token: name}), oninput});
    const label = make("div", {class: "dsbd-cut-name", dir: "auto", title: name, text: name});
    return {element: make("div", {class: "dsbd-cut-column"}, field, label, input), input, ...parts};
  }

  share(probability) {
    return `${(100 * probability) / this.top}%`;
  }

  reset() {
    this.bins = this.recorded.map((bin) => ({...bin}));
    this.show();
  }

  /* One bar of the small model; the others share what is left as before. */
  set(at, value) {
    const own = clamp(value, 0, this.top);
    const before = 1 - this.bins[at].draft;
    const others = this.bins.length - 1;
    this.bins.forEach((bin, other) => {
      if (other === at) bin.draft = own;
      else bin.draft = before > STEP ? (bin.draft * (1 - own)) / before : (1 - own) / others;
    });
    this.show();
  }

  show() {
    const {say, bins} = this;
    bins.forEach((bin, at) => {
      const {kept, cut, filled} = shares(bin);
      const column = this.columns[at];
      column.kept.style.height = this.share(kept);
      this.put(column.filled, kept, filled);
      this.put(column.off, bin.target, cut);
      column.grip.style.bottom = this.share(Math.min(bin.draft, this.top));
      column.note.style.bottom = this.share(Math.min(bin.target + cut, this.top));
      const [kind, amount] = cut > filled ? ["cut.off", cut] : ["cut.fill", filled];
      column.note.textContent = amount < SEEN ? "" : say(kind, {amount: amount.toFixed(2)});
      column.input.value = bin.draft;
      column.input.setAttribute("aria-valuetext", number(bin.draft));
    });
    const parts = bins.flatMap(partsOf);
    const [targets, drafts] = ["target", "draft"].map((field) => parts.map((part) => part[field]));
    const rest = chainOf(targets, drafts, 1)[1];
    this.result.textContent = say("cut.said", {kept: (1 - rest).toFixed(3), rest: rest.toFixed(3)}); // they add up to 1
  }

  put(part, from, size) {
    part.style.bottom = this.share(from);
    part.style.height = this.share(Math.min(size, this.top - from));
    part.hidden = size <= 0;
  }
}

/* The view of it: the layer of the step, else the first one with guesses. */
export class CutPanel extends Panel {
  key = "cut";

  get layer() {
    const {now, step, scene} = this.viewer;
    if (scene.settings.lossless === false) return undefined;
    const isTried = (layer) => now.trials.some((trial) => trial.layer === layer.layer) && barsOf(layer, "");
    const here = now.layer(now.steps[step].layer);
    return here && isTried(here) ? here : now.layers.find(isTried);
  }

  update() {
    const {layer} = this;
    if (this.drawn === (layer ?? "none")) return;
    this.drawn = layer ?? "none";
    const {say} = this.viewer;
    if (!layer) {
      this.sheet.replaceChildren(make("p", {class: "dsbd-hint", text: say("cut.none")}));
      return;
    }
    const title = make("p", {class: "dsbd-fact-title", text: this.viewer.words.layerTitle(layer)});
    this.sheet.replaceChildren(title, cutFill(this.viewer, layer));
  }
}

/* The picture of a layer, with what its columns are where several versions are alive, and when its width is chosen. */
export function cutFill({say, scene}, layer) {
  const {min_width: least, max_width: most} = scene.settings;
  const {element} = new CutFill(say, barsOf(layer, say("cut.others")), least < most ? layer.width : null);
  if (layer.alive.length > 1) element.prepend(make("p", {class: "dsbd-hint", text: say("cut.pairs")}));
  return element;
}

/* "Be the large model": the guesses of a pass are not decided yet, and the reader accepts or rejects each, from P′,
 * Q and the dice. The forest shows what was recorded. */

/* P′, Q and u with the fewest digits from which the verdict follows. */
function numbersOf({residual_prob, draft_prob, uniform, verdict}) {
  const follows = (residual, draft, u) => u < Math.min(1, residual / draft) === (verdict === "accepted");
  return enough([residual_prob, draft_prob, uniform], follows);
}

/* The places of the trials that a random number decided. */
export const openIn = ({trials}) =>
  trials.flatMap(({joint, residual_prob, uniform}, at) =>
    !joint && residual_prob !== null && uniform !== null ? [at] : [],
  );

/* It stands where the card of a node stands, so that the forest and the question are seen together. */
export class Game {
  constructor(viewer) {
    const {say} = viewer;
    this.viewer = viewer;
    this.content = make("div", {"aria-live": "polite"});
    this.acts = make("div", {class: "dsbd-game-acts"});
    this.element = make(
      "aside",
      {class: "dsbd-game", "aria-label": say("tab.game"), hidden: ""},
      make("p", {class: "dsbd-game-title", text: say("tab.game")}),
      this.content,
      this.acts,
      iconButton("close", say("ui.close"), () => this.close(), {class: "dsbd-close"}),
    );
  }

  get isOpen() {
    return !this.element.hidden;
  }

  get open() {
    return openIn(this.viewer.now);
  }

  /* The place of the pass that is shown, else of the first, in which there is something to decide; -1 for none. */
  get pass() {
    const {viewer} = this;
    const isOpen = (iteration) => openIn(iteration).length > 0;
    return isOpen(viewer.now) ? viewer.it : viewer.scene.iterations.findIndex(isOpen);
  }

  start() {
    const {viewer} = this;
    viewer.controls.stop();
    viewer.goto({it: this.pass});
    viewer.pin(-1);
    this.turn(true);
    this.show([make("p", {class: "dsbd-hint", text: viewer.say("game.lead")})], ["game.start", () => this.begin()]);
  }

  /* A focus that would be lost goes back to the button that opened it. */
  close() {
    if (!this.isOpen) return;
    const hasFocus = this.element.contains(document.activeElement);
    this.turn(false);
    if (hasFocus) this.viewer.parts.views.turn.focus();
  }

  turn(on) {
    this.element.hidden = !on;
    this.viewer.root.classList.toggle("dsbd-playing", on);
  }

  /* What is said, and what can be done then; the focus goes there. */
  show(parts, ...acts) {
    const {forest, say} = this.viewer;
    this.content.replaceChildren(...parts);
    this.acts.replaceChildren(...acts.map(([key, onclick]) => button({text: say(key), onclick})));
    this.acts.firstChild.focus({preventScroll: true});
    this.element.scrollTop = 0;
    forest.element.scrollIntoView({block: "nearest"});
  }

  begin() {
    this.count = 0;
    this.mistakes = [];
    this.ask(0);
  }

  /* Asks for the verdict on a guess, one step before it. */
  ask(turn) {
    const index = this.open[turn];
    if (index === undefined) {
      this.end();
      return;
    }
    this.goto(index, -1);
    this.show(
      this.question(index),
      ["game.accept", () => this.decide(turn, "accepted")],
      ["game.reject", () => this.decide(turn, "rejected")],
    );
  }

  goto(index, by) {
    const {viewer} = this;
    const step = viewer.now.steps.findIndex(({phase, about}) => phase === "trial" && about[0] === index);
    viewer.goto({step: step + by});
  }

  question(index) {
    const {viewer} = this;
    const {now, say, words} = viewer;
    const trial = now.trials[index];
    const token = `“${now.nodes[trial.node].token}”`;
    const title = words.title(now, {trial});
    const texts = numbersOf(trial);
    const whole = Math.max(trial.residual_prob, trial.draft_prob); // the bar of P′ is min(1, P′/Q) of its rail
    const row = (key, share, at) => bar(say(`game.${key}`), share, key, texts[at]);
    return [
      make("p", {class: "dsbd-game-guess", text: say("game.guess", {layer: trial.layer, title, token})}),
      row("target", trial.residual_prob / whole, 0),
      row("draft", trial.draft_prob / whole, 1),
      row("dice", trial.uniform, 2),
    ];
  }

  decide(turn, answer) {
    const {now, say, words} = this.viewer;
    const index = this.open[turn];
    const trial = now.trials[index];
    const isRight = answer === trial.verdict;
    this.count++;
    if (!isRight) this.mistakes.push(answer);
    this.goto(index, 0);
    const verdict = words.verdict(now, {trial});
    const sentences = [say(isRight ? "game.right" : "game.wrong", {verdict})];
    if (!isRight) sentences.push(say(`game.wrong_${answer}`));
    this.show(
      [
        ...this.question(index),
        gauge({low: 0, high: trial.acceptance, u: trial.uniform, mark: "kept"}),
        make("p", {class: "dsbd-game-said", text: sentences.join(" ")}),
      ],
      ["game.next", () => this.ask(turn + 1)],
      ...(turn + 1 < this.open.length ? [["game.rest", () => this.end()]] : []),
    );
  }

  /* The score, and what the pass brought beside other ways to write. */
  end() {
    const {viewer} = this;
    const {now, say, scene} = viewer;
    viewer.goto({step: now.steps.length - 2}); // everything is decided, and nothing has faded yet
    const tokens = [
      ["game.pass", now.layers.length],
      ["game.decode", scene.bands.at(-1).last / scene.bands.length],
      ["lanes.alone", 1],
    ];
    const most = Math.max(...tokens.map(([, value]) => value));
    const sentences = [say("game.score", {right: this.count - this.mistakes.length, count: this.count})];
    for (const answer of new Set(this.mistakes)) sentences.push(say(`game.wrong_${answer}`));
    this.show(
      [
        make("p", {class: "dsbd-game-said", text: sentences.join(" ")}),
        make("p", {class: "dsbd-fact-title", text: say("game.tokens")}),
        ...tokens.map(([key, value]) => bar(say(key), value / most, "plain", number(value))),
      ],
      ["game.again", () => this.begin()],
    );
  }
}
