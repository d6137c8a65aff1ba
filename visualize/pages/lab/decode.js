/* Tables in place of models: decodes with them, by the decoder of the live page or by one whose rule is broken, and the
 * exact law of how a decode ends. A table has the law of the next word for each path, a string of one digit a word. */

import {idsOf, iterations} from "../../live/decode.js";
import {resolved} from "../../live/settings.js";
import {RULES} from "../../live/verify.js";
import {Residual, alphasOf, chainOf, jointLaw, logProbsOf, massesOf, tailsOf, warpedLaw} from "../../viewer/law.js";

/* The law after a path, as the models of a decode give it. */
const logitsOf = (table, path) => table[path].map(Math.log);

/* A pair of tables as a pair of models, which answer at once and remember nothing. */
export function tablePair({target, draft, words}) {
  const model = (table) => {
    const feed = (nodes) => nodes.map((node) => logitsOf(table, idsOf(node).join("")));
    return {vocabulary: words.length, row: () => ({slots: 0, prefill() {}, commit() {}, feed})};
  };
  return {target: model(target), draft: model(draft), eos: new Set()};
}

/* The settings of beam sampling with tables: every layer has this width, and every pair counts. */
export const settingsOf = ({layers, width, depth = 0, guesses = 1, temperature = 1}) =>
  resolved({
    max_new_tokens: layers,
    draft_depth: depth,
    draft_width: guesses,
    min_width: width,
    max_width: width,
    width_threshold: 1,
    temperature,
    top_k: 0,
  });

/* The end of a decode as a text: every path as often as it counts, in a fixed order. */
export const endOf = (beams) =>
  beams
    .flatMap(({path, multiplicity}) => Array(multiplicity).fill(path))
    .sort()
    .join("+");

/* ---- decodes ---- */

/* Accepts every guess that the large model allows at all. */
class AcceptAll extends Residual {
  chance(at) {
    return at === null ? 0 : 1;
  }
}

/* Draws the missing word from P, where it is due from P'. */
class Forgetful extends Residual {
  masses() {
    return this.targets;
  }
}

/* Applies the temperature twice to the large model's law. */
const warpedTwice = (rows, beams, settings, size) =>
  RULES.jointLaw(rows, beams, {...settings, temperature: settings.temperature ** 2}, size);

const BROKEN = {
  accept_all: {Residual: AcceptAll},
  forget_residual: {Residual: Forgetful},
  warp_twice: {jointLaw: warpedTwice},
};

/* pair: {layers, words, target, draft}, two tables. settings: {depth, guesses, width, temperature,
 * decoder}. Returns the last beams and all passes of the target, each a list of layers. */
export function decodeTables(pair, {decoder, ...settings}, generator) {
  const rules = {...RULES, ...BROKEN[decoder]};
  const chosen = settingsOf({...settings, layers: pair.layers});
  const run = iterations(tablePair(pair), [0], chosen, {generator, rules, now: () => 0});
  const passes = [];
  let step = run.next();
  while (!step.done) {
    const isCall = typeof step.value === "function";
    if (!isCall) passes.push(step.value.layers);
    step = run.next(isCall ? step.value() : undefined);
  }
  const beams = step.value.beams.map(({node, multiplicity}) => ({path: idsOf(node).join(""), multiplicity}));
  return {beams, passes};
}

/* ---- the exact law, by enumeration ---- */

const ROOT = {path: "", log_weight: 0, multiplicity: 1};

/* Every end with its probability. widths: one for each layer; settings: those of a decode; a path that has drawn a word
 * of `eos` is finished. */
export function exactLaw(table, widths, settings = settingsOf({}), eos = new Set()) {
  const size = table[""].length;
  let law = new Map([["", {beams: [ROOT], prob: 1}]]);
  const isOver = ({path}) => eos.has(Number(path[path.length - 1] ?? -1));
  for (const width of widths) {
    const after = new Map();
    for (const {beams, prob} of law.values()) {
      const alive = beams.filter((beam) => !isOver(beam));
      const over = beams.filter(isOver);
      const rows = alive.map(({path}) => logProbsOf(logitsOf(table, path), "target"));
      const joint = jointLaw(rows, alive, settings, size);
      const pathOf = (at) => alive[Math.floor(joint.pairs[at] / size)].path + (joint.pairs[at] % size);
      for (const [chance, drawn] of drawings(joint, alive.length ? width : 0, settings.replacement)) {
        const below = [...new Set(drawn)].map((at) => ({
          path: pathOf(at),
          log_weight: joint.weights[at],
          multiplicity: drawn.filter((one) => one === at).length,
        }));
        const end = endOf([...over, ...below]);
        if (!after.has(end)) after.set(end, {beams: [...over, ...below], prob: 0});
        after.get(end).prob += prob * chance;
      }
    }
    law = after;
  }
  return new Map([...law].map(([end, {prob}]) => [end, prob]));
}

/* All ways to draw so many pairs, one after the other, with their probabilities. */
function* drawings(law, width, replacement, chance = 1, drawn = []) {
  const masses = massesOf(law, new Set(replacement ? [] : drawn));
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  if (drawn.length === width || total === 0) yield [chance, drawn];
  else {
    for (const [at, mass] of masses.entries()) {
      if (mass > 0) yield* drawings(law, width, replacement, (chance * mass) / total, [...drawn, at]);
    }
  }
}

/* Of the first layer: the probability that its first guess is accepted, and that guesses alone fill the width. */
export function firstLayer(pair, settings) {
  const {guesses, width} = settings;
  const lawOf = (table) =>
    warpedLaw([logProbsOf(logitsOf(table, ""), "target")], [ROOT], settingsOf(settings), table[""].length).probs;
  const alphas = alphasOf(chainOf(lawOf(pair.target), lawOf(pair.draft), guesses));
  return {first: alphas[0], filled: tailsOf(alphas)[width - 1] ?? 0};
}

/* ---- a reader's changes to the tables ---- */

/* A row with another number at one place; the others keep their proportions and fill up to 1. */
export function withCell(row, place, value) {
  const chosen = Math.min(1, Math.max(0, Number.isFinite(value) ? value : row[place]));
  const others = row.reduce((sum, prob, at) => (at === place ? sum : sum + prob), 0);
  const share = (prob) => (others > 0 ? prob / others : 1 / (row.length - 1));
  return row.map((prob, at) => (at === place ? chosen : (1 - chosen) * share(prob)));
}

/* The pair with another row of a model after one path, or after all of them. */
export function withRow(pair, model, row, path) {
  const paths = path === undefined ? Object.keys(pair[model]) : [path];
  return {...pair, [model]: {...pair[model], ...Object.fromEntries(paths.map((one) => [one, row]))}};
}

/* A path in words. */
export const textOf = (pair, path) => [...path].map((word) => pair.words[word]).join(" ");

export function nameOf(pair, end) {
  const paths = end.split("+");
  const times = (path) => paths.filter((other) => other === path).length;
  return [...new Set(paths)]
    .map((path) => textOf(pair, path) + (times(path) > 1 ? ` ×${times(path)}` : ""))
    .join(" + ");
}
