/* "Be the large model": the guesses of a pass are not decided yet, and the reader accepts or rejects each, from P′,
 * Q and the dice. Then the width is theirs. The forest shows what was recorded. */

import {bar, gauge} from "./card.js";
import {button, iconButton, make} from "./dom.js";
import {acceptanceOf, atLeast, bounded, reached, residualOf, verdictOf} from "./law.js";
import {number} from "./words.js";

const MOST_DIGITS_SHOWN = 6;
/* Random numbers that accept every guess, and none. */
const ALWAYS = -1;
const NEVER = 1;

/* P′, Q and u with the fewest digits from which the verdict follows. */
export function numbersOf({residual_prob, draft_prob, uniform, verdict}) {
  const values = [residual_prob, draft_prob, uniform];
  let digits = 2;
  const follows = () => {
    const [residual, draft, u] = values.map((value) => Number(value.toPrecision(digits)));
    return u < Math.min(1, residual / draft) === (verdict === "accepted");
  };
  while (digits < MOST_DIGITS_SHOWN && !follows()) digits++;
  return values.map((value) => number(value, digits));
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
    this.told = make("div", {"aria-live": "polite"});
    this.acts = make("div", {class: "dsbd-game-acts"});
    this.after = make("div");
    this.element = make(
      "aside",
      {class: "dsbd-game", "aria-label": say("tab.game"), hidden: ""},
      make("p", {class: "dsbd-game-title", text: say("tab.game")}),
      this.told,
      this.acts,
      this.after,
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
    if (hasFocus) this.viewer.strip.turn.focus();
  }

  turn(on) {
    this.element.hidden = !on;
    this.viewer.root.classList.toggle("dsbd-playing", on);
  }

  /* What is said, and what can be done then; the focus goes there. */
  show(told, ...acts) {
    const {forest, say} = this.viewer;
    this.told.replaceChildren(...told);
    this.acts.replaceChildren(...acts.map(([key, onclick]) => button({text: say(key), onclick})));
    this.after.replaceChildren();
    this.acts.firstChild.focus({preventScroll: true});
    this.element.scrollTop = 0;
    forest.element.scrollIntoView({block: "nearest"});
  }

  begin() {
    this.answers = {};
    this.mistakes = [];
    this.ask(0);
  }

  /* The guess is asked for one step before its verdict. */
  ask(turn) {
    const place = this.open[turn];
    if (place === undefined) {
      this.end();
      return;
    }
    this.goto(place, -1);
    this.show(
      this.question(place),
      ["game.accept", () => this.decide(turn, "accepted")],
      ["game.reject", () => this.decide(turn, "rejected")],
    );
  }

  goto(place, by) {
    const {viewer} = this;
    const step = viewer.now.steps.findIndex(({phase, about}) => phase === "trial" && about[0] === place);
    viewer.goto({step: step + by});
  }

  question(place) {
    const {viewer} = this;
    const {now, say, words} = viewer;
    const trial = now.trials[place];
    const token = `“${now.nodes[trial.node].token}”`;
    const title = words.title(now, {trial, place});
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
    const place = this.open[turn];
    const trial = now.trials[place];
    const isRight = answer === trial.verdict;
    this.answers[place] = answer === "accepted" ? ALWAYS : NEVER;
    if (!isRight) this.mistakes.push(answer);
    this.goto(place, 0);
    const verdict = words.verdict(now, {trial});
    const told = [say(isRight ? "game.right" : "game.wrong", {verdict})];
    if (!isRight) told.push(say(`game.wrong_${answer}`));
    this.show(
      [
        ...this.question(place),
        gauge({low: 0, high: trial.acceptance, u: trial.uniform, mark: "kept"}),
        make("p", {class: "dsbd-game-said", text: told.join(" ")}),
      ],
      ["game.next", () => this.ask(turn + 1)],
      ...(turn + 1 < this.open.length ? [["game.rest", () => this.end()]] : []),
    );
  }

  /* The score in tokens a pass, beside what was recorded; then the width. */
  end() {
    const {viewer} = this;
    const {now, say, scene} = viewer;
    viewer.goto({step: now.steps.length - 2}); // everything is decided, and nothing has faded yet
    const mine = tokensOf(now, scene.settings, decidedAgain(now, scene.settings, {uniforms: this.answers}));
    const scores = [
      ["game.yours", mine.count, `${mine.isOpen ? "≥ " : ""}${mine.count}`],
      ["game.pass", now.layers.length],
      ["game.decode", scene.bands.at(-1).last / scene.bands.length],
      ["lanes.alone", 1],
    ];
    const most = Math.max(...scores.map(([, value]) => value));
    const count = Object.keys(this.answers).length;
    const told = [say("game.score", {right: count - this.mistakes.length, count})];
    for (const answer of new Set(this.mistakes)) told.push(say(`game.wrong_${answer}`));
    this.show(
      [
        make("p", {class: "dsbd-game-said", text: told.join(" ")}),
        make("p", {class: "dsbd-fact-title", text: say("game.tokens")}),
        ...scores.map(([key, value, text = number(value)], at) =>
          bar(say(key), value / most, at ? "plain" : "target", text),
        ),
      ],
      ["game.again", () => this.begin()],
    );
    if (!scene.settings.branching) this.after.append(...this.width());
  }

  /* A slider for how many are kept at every token, and what that brings. An untried guess rolls its dice now. */
  width() {
    const {now, say, scene, words} = this.viewer;
    const untried = now.trials.flatMap((trial, at) => (trial.uniform === null ? [at] : []));
    const uniforms = Object.fromEntries(untried.map((at) => [at, Math.random()]));
    const input = make("input", {
      type: "range",
      min: 1,
      max: Math.max(...now.layers.map(({at_least}) => at_least.length)),
      value: now.layers[0].width,
      "aria-label": say("game.width"),
      oninput: () => move(Number(input.value)),
    });
    const said = make("p", {class: "dsbd-game-said"});
    const chances = make("div");
    const move = (width) => {
      const changes = {min_width: width, max_width: width, uniforms};
      const found = decidedAgain(now, scene.settings, changes);
      const {layers, stop} = found;
      const {count, isOpen} = tokensOf(now, scene.settings, found);
      const tokens = words.counted("tokens", count);
      const end = stop ? say(`game.stop_${stop.reason}`, {layer: stop.layer}) : "";
      said.textContent = `${say(isOpen ? "game.brings_more" : "game.brings", {width, tokens})} ${end}`;
      const decided = layers.map(({layer}) => now.layer(layer)).filter(({kind}) => kind === "draft");
      chances.replaceChildren(...decided.map((layer) => bar(words.layerTitle(layer), atLeast(layer, width), "plain")));
    };
    move(Number(input.value));
    return [
      make("label", {class: "dsbd-field"}, make("span", {text: say("game.width")}), input),
      said,
      make("p", {class: "dsbd-fact-title", text: say("layer.at_least")}),
      chances,
      make("p", {class: "dsbd-hint", text: say("game.trade")}),
    ];
  }
}

/* ---- the same pass with other answers, or another width ---------------------------------------------------------- */

/* Decides the drafts again, layer by layer, from the recorded numbers, as far as these still apply. changes: random
 * numbers by the place of a trial, and settings. Returns {layers, stop}: per layer its width and the verdicts; stop =
 * {layer, reason} where the recorded numbers end, or null. */
export function decidedAgain(iteration, settings, {uniforms = {}, ...changes}) {
  const layers = [];
  for (const layer of iteration.layers) {
    const {stop, ...found} = layerAgain(iteration, layer, {...settings, ...changes}, uniforms);
    layers.push(found);
    if (stop) return {layers, stop: {layer: layer.layer, reason: stop}};
  }
  return {layers, stop: null};
}

function layerAgain(iteration, layer, settings, uniforms) {
  const {chain_S, target_support, at_least} = layer;
  const width =
    layer.kind === "bonus"
      ? layer.width
      : bounded(reached(at_least, settings.width_threshold), target_support, settings);
  const verdicts = [];
  const accepted = [];
  const found = {layer: layer.layer, width, verdicts};
  let changed = false;
  let rejections = 0; // since the last acceptance: then P′ is max(P − cQ, 0) / S
  for (const [at, trial] of iteration.trials.entries()) {
    if (trial.layer !== layer.layer) continue;
    const {parent, target_prob} = iteration.nodes[trial.node];
    const uniform = uniforms[at] ?? trial.uniform;
    let verdict = accepted.length === width ? "unneeded" : "orphaned";
    if (accepted.length < width && layer.alive.includes(parent)) {
      if (uniform === null) return {...found, stop: "uniform"};
      const c = chain_S.slice(0, rejections).reduce((sum, S) => sum + S, 0);
      const again = acceptanceOf(
        residualOf(target_prob ?? 0, trial.draft_prob, c, chain_S[rejections]),
        trial.draft_prob,
      );
      verdict = verdictOf(uniform, changed ? again : (trial.acceptance ?? again));
    }
    verdicts.push({trial: at, verdict});
    changed ||= verdict !== trial.verdict;
    if (changed && !settings.replacement) return {...found, stop: "verdict"};
    if (verdict === "accepted") {
      accepted.push(trial.node);
      rejections = 0;
    } else if (verdict !== "unneeded" && chain_S[rejections + 1] > 0) rejections++;
  }
  return {...found, stop: stopAfter(iteration, layer, accepted, width, changed)};
}

/* Why the recorded numbers do not apply after this layer; null if they do. */
function stopAfter(iteration, layer, accepted, width, changed) {
  const recorded = iteration.trials.filter((trial) => trial.layer === layer.layer && trial.verdict === "accepted");
  const sorted = (nodes) => [...nodes].sort((one, other) => one - other).join();
  if (width !== layer.width || sorted(accepted) !== sorted(recorded.map((trial) => trial.node))) return "beams";
  return changed && accepted.length < width ? "draws" : null;
}

/* How many tokens the pass brings as decided. isOpen: it may bring more, but the recorded numbers end there. */
export function tokensOf(iteration, settings, {layers, stop}) {
  if (!stop) return {count: iteration.layers.length, isOpen: false};
  const {width, verdicts} = layers[layers.length - 1];
  const accepted = verdicts.filter(({verdict}) => verdict === "accepted");
  if (["uniform", "verdict"].includes(stop.reason)) return {count: stop.layer, isOpen: true};
  if (accepted.length < width) return {count: stop.layer, isOpen: settings.landing};
  const goesOn = accepted.some(({trial}) => !iteration.nodes[iteration.trials[trial].node].ends);
  return {count: stop.layer + Number(goesOn), isOpen: goesOn};
}
