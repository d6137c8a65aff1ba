/* Many decodes, in slices of a few milliseconds (the page stays live, and the counts grow before the reader's eyes),
 * and Pearson's chi-square of the counts against the exact law. */

import {generatorOf} from "../../live/draft.js";
import {decodeTables, endOf, exactLaw, firstLayer, settingsOf} from "./decode.js";

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
