/* Tables in place of models: decodes with them, by the decoder of the live page or by one whose rule is broken, and the
 * exact law of how a decode ends. A table has the law of the next word for each path, a string of one digit a word. */

import {generatorOf, idsOf, iterations} from "../../live/decode.js";
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

/* Many decodes, in slices of a few milliseconds (the page stays live, and the counts grow before the reader's eyes),
 * and Pearson's chi-square of the counts against the exact law. */
const LEAST = 5; // ends expected less often share a bin

/* The bins that `runs` decodes fill: [{ends, chance}]. The last one holds what is left; where that is expected less
 * than five times too, it joins the smallest bin. */
export function binsOf(law, runs) {
  const sorted = [...law].sort(([, one], [, other]) => other - one);
  const bins = sorted.filter(([, chance]) => chance * runs >= LEAST).map(([end, chance]) => ({ends: [end], chance}));
  const ends = sorted.slice(bins.length).map(([end]) => end);
  const chance = sorted.slice(bins.length).reduce((sum, [, one]) => sum + one, 0);
  if (chance * runs >= LEAST || !bins.length) bins.push({ends, chance});
  else {
    const last = bins[bins.length - 1];
    last.ends.push(...ends);
    last.chance += chance;
  }
  return bins;
}

/* Infinite where something was counted that the law forbids. */
export function chiSquare(bins, counts, runs) {
  let seen = 0;
  let sum = 0;
  for (const {ends, chance} of bins) {
    const count = ends.reduce((total, end) => total + (counts.get(end) ?? 0), 0);
    sum += (count - runs * chance) ** 2 / (runs * chance);
    seen += count;
  }
  return seen < runs ? Infinity : sum;
}

/* The probability of a chi-square this large or larger: the upper incomplete gamma function, as a series or, where that
 * is slow, as a continued fraction (Lentz's way). */
export function pValue(square, freedom) {
  if (square === Infinity) return 0;
  if (square <= 0 || freedom < 1) return 1;
  const a = freedom / 2;
  const x = square / 2;
  let logGamma = freedom % 2 ? Math.log(Math.PI) / 2 : 0;
  for (let at = freedom % 2 ? 0.5 : 1; at < a; at++) logGamma += Math.log(at);
  const front = Math.exp(a * Math.log(x) - x - logGamma);
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let at = a + 1; term > sum * 1e-17; at++) sum += term *= x / at;
    return 1 - front * sum;
  }
  let b = x + 1 - a;
  let c = Infinity;
  let d = 1 / b;
  let fraction = d;
  for (let at = 1, step = 0; Math.abs(step - 1) > 1e-15 && at < 1000; at++) {
    b += 2;
    d = 1 / (b - at * (at - a) * d);
    c = b - (at * (at - a)) / c;
    step = c * d;
    fraction *= step;
  }
  return front * fraction;
}

/* The chi-square that a lossless decoder exceeds once in a hundred runs. */
export function limitOf(freedom) {
  let [low, high] = [0, 10 * freedom + 20];
  for (let halved = 0; halved < 60; halved++) {
    const middle = (low + high) / 2;
    if (pValue(middle, freedom) > 0.01) low = middle;
    else high = middle;
  }
  return low;
}

const SLICE_MS = 8;
const PAUSE_MS = 16;
const SLICES = 100; // at least as many, so that the counts are seen growing

export class Experiment {
  /* settings: {runs, seed, width, depth, guesses, decoder}; decoder is one of the lab's. */
  constructor(pair, settings) {
    const alone = settings.decoder === "draft_alone";
    this.pair = alone ? {...pair, target: pair.draft} : pair;
    this.settings = {...settings, depth: alone ? 0 : settings.depth};
    this.law = exactLaw(pair.target, Array(pair.layers).fill(settings.width), settingsOf(settings));
    this.bins = binsOf(this.law, settings.runs);
    this.freedom = this.bins.length - 1;
    this.limit = limitOf(this.freedom);
    this.formula = firstLayer(pair, settings);
    this.generator = generatorOf(settings.seed);
    this.counts = new Map();
    this.done = 0;
    this.squares = [];
    this.seen = {tried: 0, accepted: 0, first: 0, filled: 0, passes: 0};
  }

  /* Resolves when all decodes are done, or after stop(). Calls `show` after every slice. */
  async run(show) {
    const {runs} = this.settings;
    while (this.done < runs && !this.isStopped) {
      const until = performance.now() + SLICE_MS;
      const most = Math.min(runs, this.done + Math.ceil(runs / SLICES));
      do this.once();
      while (this.done < most && performance.now() < until);
      this.squares.push([this.done, chiSquare(this.bins, this.counts, this.done)]);
      show(this);
      await new Promise((next) => setTimeout(next, PAUSE_MS));
    }
  }

  stop() {
    this.isStopped = true;
  }

  once() {
    const {beams, passes} = decodeTables(this.pair, this.settings, this.generator);
    const end = endOf(beams);
    this.counts.set(end, (this.counts.get(end) ?? 0) + 1);
    this.done++;
    this.seen.passes += passes.length;
    for (const {trials} of passes.flat()) {
      this.seen.tried += trials.filter(({verdict}) => verdict === "accepted" || verdict === "rejected").length;
      this.seen.accepted += trials.filter(({verdict}) => verdict === "accepted").length;
    }
    const [{trials, accepted}] = passes[0];
    if (trials[0]?.verdict === "accepted") this.seen.first++;
    if (accepted === this.settings.width) this.seen.filled++;
  }

  get square() {
    return chiSquare(this.bins, this.counts, this.done);
  }

  get p() {
    return pValue(this.square, this.freedom);
  }
}
