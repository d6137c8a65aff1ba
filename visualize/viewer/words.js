/* The sentences of seven languages: a table for each, whose templates are filled with recorded numbers. */

import {filled} from "./dom.js";
import ar from "../words/ar.json" with {type: "json"};
import de from "../words/de.json" with {type: "json"};
import en from "../words/en.json" with {type: "json"};
import es from "../words/es.json" with {type: "json"};
import fr from "../words/fr.json" with {type: "json"};
import ja from "../words/ja.json" with {type: "json"};
import zh from "../words/zh.json" with {type: "json"};

/** @import {Draw, Fact, Node, SceneLayer, Settings, Trial} from "./types"
 * @import {SceneIteration} from "./scene.js" */

/* What a language lacks is English. */
const tables = Object.entries({en, zh, es, de, fr, ja, ar});
export const STRINGS = Object.fromEntries(tables.map(([code, table]) => [code, {...en, ...table}]));

/* The name of a language in itself. */
export const nameOf = (code) => capital(new Intl.DisplayNames([code], {type: "language"}).of(code));

/* The language that the reader chose last on this site; a frame without storage remembers none. */
const CHOSEN = "dsbd-language";

function storage() {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}

export const remember = (language) => storage()?.setItem(CHOSEN, language);
export const remembered = () => storage()?.getItem(CHOSEN);

const PLAIN_FROM = 5e-4;
const PLAIN_TO = 1e9;
const MOST_DIGITS = 12;

/* A number for a sentence: 0.42, 0.0031, 3.1·10⁻⁵, 2.0·10⁵², 1; with a true minus. */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  if (!isPlain(value)) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa}·10${[...String(Number(exponent))].map(raised).join("")}`.replace("-", "−");
  }
  const text = value.toFixed(placesOf(value, digits));
  return (Number.isInteger(value) ? text.split(".")[0] : text).replace("-", "−");
}

const raised = (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)];

const isPlain = (value) => value === 0 || (Math.abs(value) >= PLAIN_FROM && Math.abs(value) < PLAIN_TO);
const placesOf = (value, digits) => {
  const size = Math.abs(value);
  return value === 0 || size >= 0.1 ? digits : digits - 1 - Math.floor(Math.log10(size));
};

/* The number that `number` writes. */
const asWritten = (value, digits) =>
  Number(isPlain(value) ? value.toFixed(placesOf(value, digits)) : value.toExponential(digits - 1));

/* Whether a text says this value, with as many digits as it has. */
const says = (text, value) =>
  Number(text) === value || Array.from({length: MOST_DIGITS - 2}, (_, at) => number(value, at + 2)).includes(text);

/* The numbers as texts, with the fewest digits from which something `follows` of the numbers that are written. */
export function enough(values, follows) {
  let digits = 2;
  while (digits < MOST_DIGITS && !follows(...values.map((value) => asWritten(value, digits)))) digits++;
  return values.map((value) => number(value, digits));
}

/* The numbers as texts, with enough digits that different numbers look different. */
export function tellApart(...values) {
  const distinct = new Set(values).size;
  let texts = [];
  for (let digits = 2; digits < MOST_DIGITS; digits++) {
    texts = values.map((value) => number(value, digits));
    if (new Set(texts).size === distinct) break;
  }
  return texts;
}

export const capital = (text) => {
  const [first = "", ...rest] = [...text];
  return first.toUpperCase() + rest.join("");
};

/* isCopied: the guesses are copied from the text, so that no sentence may speak of a small model. */
export class Words {
  constructor(language, isCopied = false) {
    this.isCopied = isCopied;
    this.language = STRINGS[language] ? language : "en";
    this.table = STRINGS[this.language];
    this.plurals = new Intl.PluralRules(this.language);
  }

  say(key, values = {}) {
    return filled((this.isCopied && this.table[`${key}.copied`]) || (this.table[key] ?? key), values);
  }

  /* A number of drafts, nodes, extra candidates, beams, tokens or passes, with the noun in its right form. */
  counted(noun, count) {
    return this.say(`count.${noun}.${this.plurals.select(count)}`, {count});
  }

  /* The name of a layer; a bonus layer after others is called free. before: how many tokens earlier passes brought. */
  layerTitle(layer, before) {
    return this.columnTitle(layer.layer, before, layer.kind === "bonus" && layer.layer > 1);
  }

  /* The name of the layer of this number, and the place of its tokens in the text unless they are the same. */
  columnTitle(number, before, isFree = false) {
    const title = this.say(isFree ? "layer.bonus" : "layer.title", {layer: number});
    return before ? this.say("layer.place", {title, position: before + number}) : title;
  }

  /** The verdict of one trial in plain words. @param {Trial} trial @param {number} width */
  trial(trial, width) {
    if (trial.joint) return this.joint(trial);
    if (trial.verdict === "orphaned") return this.say("trial.orphaned");
    if (trial.verdict === "unneeded") return this.say("trial.unneeded", {width});
    if (trial.acceptance === null || trial.uniform === null) return this.say(`trial.${trial.verdict}_plain`);
    if (trial.verdict === "rejected" && trial.acceptance === 0) {
      return this.say(trial.c ? "trial.rejected_used" : "trial.rejected_none");
    }
    if (trial.acceptance >= 1 && trial.residual_prob !== null) {
      const [residual, draft] = tellApart(trial.residual_prob, trial.draft_prob);
      return this.say("trial.accepted_sure", {residual, draft});
    }
    const [u, ratio] = tellApart(trial.uniform, trial.acceptance);
    return this.say(`trial.${trial.verdict}`, {u, ratio});
  }

  /** @param {Trial} trial */
  joint({verdict, acceptance, joint}) {
    if (joint.target === null || acceptance === null) return this.say("trial.joint_impossible");
    const [ratio, threshold] = tellApart(acceptance, joint.threshold);
    return this.say(`trial.joint_${verdict}`, {ratio, threshold});
  }

  /** The comparison that decided a trial. @param {Trial} trial */
  comparison({verdict, joint, acceptance, uniform}) {
    if (joint) {
      if (joint.target === null || acceptance === null) return "";
      const [ratio, threshold] = tellApart(acceptance, joint.threshold);
      return this.say(verdict === "accepted" ? "formula.joint_accepted" : "formula.joint_missed", {ratio, threshold});
    }
    if (!isOpen({acceptance, uniform})) return "";
    const [u, chance] = tellApart(uniform, acceptance);
    return this.say(uniform < acceptance ? "formula.below" : "formula.above", {u, chance});
  }

  /** Where P' comes from; the formula only if it gives the recorded number. For a joint test, its sums. Whoever
   * calculates with the numbers that are written gets the results that are written.
   * @param {Trial} trial @param {Pick<Node, "target_prob">} node */
  residual(trial, node) {
    if (trial.joint) {
      const {target, draft} = trial.joint;
      return this.say("trial.joint_sums", {target: target === null ? "−∞" : number(target), draft: number(draft)});
    }
    if (trial.residual_prob === null) return "";
    const {residual_prob, draft_prob, acceptance, uniform} = trial;
    const [, chance] = isOpen(trial) ? tellApart(uniform, acceptance) : [];
    const agrees = (left, Q) => !chance || says(chance, Math.min(1, left / Q));
    let written = 0;
    const [residual, draft] = enough([residual_prob, draft_prob], (left, Q) => {
      written = left;
      return agrees(left, Q) && agrees(left, draft_prob);
    });
    if (trial.c && trial.S && node.target_prob !== null) {
      const left = (P, Q, c, S) => Math.max(P - c * Q, 0) / S;
      const exact = left(node.target_prob, draft_prob, trial.c, trial.S);
      if (Math.abs(exact - residual_prob) <= Math.max(1e-6 * Math.max(exact, residual_prob), 1e-9)) {
        const follows = (...numbers) => says(residual, left(...numbers)) && agrees(written, numbers[1]);
        const [P, Q, c, S] = enough([node.target_prob, draft_prob, trial.c, trial.S], follows);
        return this.say("trial.residual", {target: P, draft: Q, c, S, residual});
      }
    }
    return this.say("trial.ratio", {residual, draft});
  }

  /** The arithmetic behind what a trial or a draw decided. @param {Fact} fact @param {any} node */
  detail({trial, draw}, node) {
    if (draw) return this.interval(draw);
    return [this.comparison(trial), this.residual(trial, node)].filter(Boolean).join("; ");
  }

  /** How one beam was drawn from the target's distribution. @param {Draw} draw */
  drawn(draw) {
    const sentence = this.say(`draw.${draw.kind}`);
    return draw.landed && draw.kind !== "guessed" ? `${sentence}; ${this.say("draw.landed")}` : sentence;
  }

  /** The interval in which the random number of a draw fell, or the noise that made it the largest.
   * @param {Draw} draw */
  interval(draw) {
    if (draw.noise !== null) return this.say("formula.noise", {noise: number(draw.noise)});
    const [u, low, high] = tellApart(draw.uniform, draw.cdf_low, draw.cdf_high);
    const key = draw.kind === "recovered" ? "formula.residual_draw" : "formula.draw";
    return this.say(key, {c: number(draw.c), u, low, high});
  }

  /** Why the layer has its width. @param {SceneLayer} layer @param {Settings} settings */
  width(layer, settings) {
    const {width} = layer;
    const [here, beyond] = [width - 1, width].map((at) => layer.chances[at] ?? 0);
    const [reached, missed, threshold] = tellApart(here, beyond, settings.width_threshold);
    const values = {width, next: width + 1, reached, missed, threshold};
    return this.say(`width.${whyWidth(layer, settings)}`, values);
  }

  /** The outcome of a layer. landed: whether a layer before it went on because its picks had been guessed too.
   * @param {SceneLayer} layer @param {boolean} landed */
  outcome(layer, landed) {
    const coupled = !layer.draws_planned && layer.outcome === "short" ? "_coupled" : "";
    const isJoint = layer.width_reason === "joint" && ["passed", "short"].includes(layer.outcome);
    const isFirst = layer.outcome === "bonus" && layer.layer === 1;
    const afterLanding = layer.outcome === "bonus" && landed ? "_landed" : "";
    return this.say(`outcome.${layer.outcome}${isFirst ? "_first" : isJoint ? "_joint" : afterLanding || coupled}`, {
      layer: layer.layer,
      width: layer.width,
      accepted: layer.accepted,
    });
  }

  /** "draft 2 of 5" @param {SceneIteration} iteration @param {Fact} fact */
  title(iteration, {trial, draw}) {
    const [kind, item, items] = trial ? ["trial", trial, iteration.trials] : ["draw", draw, iteration.draws];
    const peers = items.filter((other) => other.layer === item.layer);
    return this.say(`${kind}.title`, {order: (trial ? trial.order : peers.indexOf(draw)) + 1, count: peers.length});
  }

  /** What a trial or a draw decided. @param {SceneIteration} iteration @param {Fact} fact */
  verdict(iteration, {trial, draw}) {
    return trial ? this.trial(trial, iteration.layer(trial.layer)?.width) : this.drawn(draw);
  }

  /** The sentence of one step. @param {SceneIteration} iteration @param {number} at @param {Settings} settings */
  step(iteration, at, settings) {
    const step = iteration.steps[at];
    const {layer, about} = step;
    switch (step.phase) {
      case "draft": {
        const [drafts, nodes, cover] = about;
        const none = settings.method === "mjgd" ? "step.draft_search" : "step.draft_nodes";
        const joint = !drafts ? none : cover ? "step.draft_cover" : "step.draft";
        const key = settings.branching ? "step.draft_tree" : joint;
        const counted = {drafts: this.counted("drafts", drafts), nodes: this.counted("nodes", nodes)};
        return this.say(key, {layer, ...counted, cover: this.counted("cover", cover)});
      }
      case "score":
        return this.say(!about[0] ? "step.score_none" : about[1] ? "step.score_joint" : "step.score", {
          nodes: this.counted("nodes", about[0]),
        });
      case "width":
        return this.say(about[0] ? "step.width_ignored" : "step.width", {
          layer,
          reason: this.width(iteration.layer(layer), settings),
          nodes: this.counted("nodes", about[0] ?? 0),
        });
      case "layer": {
        const outcome = capital(
          this.say("step.layer", {outcome: this.outcome(iteration.layer(layer), iteration.landed)}),
        );
        return layer === iteration.layers.length ? `${this.pass(iteration)}. ${outcome}` : outcome;
      }
      case "commit":
        return this.commit(iteration);
      default: {
        const fact = iteration.factOf(step);
        const token = `“${iteration.nodes[step.focus].token}”`;
        const values = {layer, token, title: this.title(iteration, fact), sentence: this.verdict(iteration, fact)};
        return capital(this.say(`step.${step.phase}`, values));
      }
    }
  }

  /** "Pass 2: 8 tokens". @param {SceneIteration} iteration */
  pass({number, layers}) {
    return this.say("figure.pass", {index: number, tokens: this.counted("tokens", layers.length)});
  }

  /** @param {SceneIteration} iteration */
  commit(iteration) {
    const beams = iteration.beams_after.filter((beam) => !beam.finished).length;
    const values = {layers: this.counted("tokens", iteration.layers.length), beams: this.counted("beams", beams)};
    return capital(this.say(beams ? "step.commit" : "step.commit_end", values));
  }
}

/* Whether the random number of a trial decided it. */
const isOpen = ({acceptance, uniform}) => acceptance !== null && uniform !== null && acceptance > 0 && acceptance < 1;

const BOUNDS = {min_width: "min", max_width: "max", support: "support"};

/* The end of the key of a sentence that says why a layer has its width. */
function whyWidth({kind, width, width_reason, chances}, settings) {
  if (width_reason === "joint") return "joint";
  if (kind !== "draft") {
    if (settings.draft_depth === 0) return "bonus_plain";
    return width === settings.max_width ? "bonus" : "bonus_all";
  }
  if (width_reason === "min_width" && settings.min_width === settings.max_width) return "fixed";
  return BOUNDS[width_reason] ?? (width >= chances.length ? "all" : "between");
}
