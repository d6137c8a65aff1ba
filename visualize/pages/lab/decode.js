/* Tables in place of models: decodes with them, by the decoder of the live page or by one whose rule is broken, and the
 * exact distribution of how a decode ends. A table has the distribution of the next word for each path, a string of one
 * digit a word. */

import {generatorOf, iterations} from "../../live/decode.js";
import {idsOf} from "../../live/lookup.js";
import {resolved} from "../../live/settings.js";
import {RULES} from "../../live/verify.js";
import {Residual, jointDistribution, logProbsOf} from "../../viewer/distribution.js";

/* The distribution after a path, as the models of a decode give it. */
const logitsOf = (table, path) => table[path].map(Math.log);

/** A pair of tables as a pair of models, which answer at once and remember nothing. @returns {any} */
export function tablePair({target, draft, words}) {
  const model = (table) => {
    const forward = (nodes) => nodes.map((node) => logitsOf(table, idsOf(node).join("")));
    return {vocabulary: words.length, newState: () => ({slots: 0, prefill() {}, commit() {}, forward})};
  };
  return {target: model(target), draft: model(draft), eos: new Set()};
}

/* The settings of a decode with tables: every layer has this width, and every candidate counts. */
/** @param {{layers?: number, width?: number, depth?: number, guesses?: number, temperature?: number}} choices */
const settingsOf = ({layers, width, depth = 0, guesses = 1, temperature = 1}) =>
  resolved({
    max_new_tokens: layers,
    draft_depth: depth,
    draft_width: guesses,
    min_width: width,
    max_width: width,
    width_threshold: 1,
    forest: "sampled",
    temperature,
    top_k: 0,
  });

/* The end of a decode as a text: every path as often as it counts, in a fixed order. */
const endOf = (beams) => {
  const paths = beams.flatMap(({path, multiplicity}) => Array(multiplicity).fill(path));
  return paths.sort().join("+");
};

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

/* Applies the temperature twice to the large model's distribution. */
const warpedTwice = (nextTokens, beams, settings, size) =>
  RULES.jointDistribution(nextTokens, beams, {...settings, temperature: settings.temperature ** 2}, size);

const BROKEN = {
  accept_all: {Residual: AcceptAll},
  forget_residual: {Residual: Forgetful},
  warp_twice: {jointDistribution: warpedTwice},
};

/* pair: {layers, words, target, draft}, two tables. Returns the last beams and the number of passes of the target. */
function decodeTables(pair, {decoder, ...settings}, generator) {
  const rules = {...RULES, ...BROKEN[decoder]};
  const chosen = settingsOf({...settings, layers: pair.layers});
  const run = iterations(tablePair(pair), [0], chosen, {generator, rules, now: () => 0});
  let passes = 0;
  let step = run.next();
  while (!step.done) {
    if (typeof step.value === "function") step = run.next(step.value());
    else [passes, step] = [passes + 1, run.next()];
  }
  const beams = step.value.beams.map(({node, multiplicity}) => ({path: idsOf(node).join(""), multiplicity}));
  return {beams, passes};
}

const ROOT = {path: "", log_weight: 0, multiplicity: 1};

/* Every end with its probability. settings: those of a decode. */
export function exactDistribution({target: table, layers}, width, settings = settingsOf({})) {
  const size = table[""].length;
  let distribution = new Map([["", {beams: [ROOT], prob: 1}]]);
  for (let layer = 0; layer < layers; layer++) {
    const after = new Map();
    for (const {beams, prob} of distribution.values()) {
      const nextTokens = beams.map(({path}) => logProbsOf(logitsOf(table, path), "target"));
      const joint = jointDistribution(nextTokens, beams, settings, size);
      const pathOf = (at) => beams[Math.floor(joint.candidates[at] / size)].path + (joint.candidates[at] % size);
      for (const [chance, drawn] of drawings(joint.probs, width)) {
        const below = [...new Set(drawn)].map((at) => ({
          path: pathOf(at),
          log_weight: joint.weights[at],
          multiplicity: drawn.filter((one) => one === at).length,
        }));
        const end = endOf(below);
        if (!after.has(end)) after.set(end, {beams: below, prob: 0});
        after.get(end).prob += prob * chance;
      }
    }
    distribution = after;
  }
  return new Map([...distribution].map(([end, {prob}]) => [end, prob]));
}

/* All ways to draw `width` candidates, one after the other, with their probabilities. */
function* drawings(probs, width, chance = 1, drawn = []) {
  if (drawn.length === width) yield [chance, drawn];
  else for (const [at, prob] of probs.entries()) yield* drawings(probs, width, chance * prob, [...drawn, at]);
}

/* An end in words. */
export function nameOf(pair, end) {
  const paths = end.split("+");
  const textOf = (path) => [...path].map((word) => pair.words[word]).join(" ");
  const times = (path) => paths.filter((other) => other === path).length;
  const names = [...new Set(paths)].map((path) => textOf(path) + (times(path) > 1 ? ` ×${times(path)}` : ""));
  return names.join(" + ");
}

/* Many decodes, in slices of a few milliseconds (the page stays live, and the counts grow before the reader's eyes),
 * and Pearson's chi-square of the counts against the exact distribution. */
const LEAST = 5; // ends expected less often share a bin

/* The bins that `runs` decodes fill: [{ends, chance}]. The last one holds what is left; where that is expected less
 * than five times too, it joins the smallest bin. */
export function binsOf(distribution, runs) {
  const sorted = [...distribution].sort(([, one], [, other]) => other - one);
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

/* Infinite where something was counted that the distribution forbids. */
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

/* The chi-square that a lossless decoder exceeds once in a hundred runs, or as rarely as a normal value exceeds
 * `deviations` (Wilson and Hilferty; once in a hundred to 1 %). */
export function limitOf(freedom, deviations = 2.3263) {
  const spread = 2 / (9 * Math.max(1, freedom));
  return Math.max(1, freedom) * (1 - spread + deviations * Math.sqrt(spread)) ** 3;
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
    this.distribution = exactDistribution(pair, settings.width, settingsOf(settings));
    this.bins = binsOf(this.distribution, settings.runs);
    this.freedom = this.bins.length - 1;
    this.limit = limitOf(this.freedom);
    this.generator = generatorOf(settings.seed);
    this.counts = new Map();
    this.done = 0;
    this.squares = [];
    this.passes = 0;
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
    this.passes += passes;
  }

  get square() {
    return chiSquare(this.bins, this.counts, this.done);
  }
}
