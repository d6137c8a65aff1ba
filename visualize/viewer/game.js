/* "Be the large model": the guesses of a pass are not decided yet, and the reader accepts or rejects each, from P′,
 * Q and the dice. The forest shows what was recorded. */

import {bar, gauge} from "./card.js";
import {button, iconButton, make} from "./dom.js";
import {number} from "./words.js";

const MOST_DIGITS_SHOWN = 6;

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
    this.element = make(
      "aside",
      {class: "dsbd-game", "aria-label": say("tab.game"), hidden: ""},
      make("p", {class: "dsbd-game-title", text: say("tab.game")}),
      this.told,
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
    this.acts.firstChild.focus({preventScroll: true});
    this.element.scrollTop = 0;
    forest.element.scrollIntoView({block: "nearest"});
  }

  begin() {
    this.count = 0;
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
    this.count++;
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
    const told = [say("game.score", {right: this.count - this.mistakes.length, count: this.count})];
    for (const answer of new Set(this.mistakes)) told.push(say(`game.wrong_${answer}`));
    this.show(
      [
        make("p", {class: "dsbd-game-said", text: told.join(" ")}),
        make("p", {class: "dsbd-fact-title", text: say("game.tokens")}),
        ...tokens.map(([key, value]) => bar(say(key), value / most, "plain", number(value))),
      ],
      ["game.again", () => this.begin()],
    );
  }
}
