/* Many decodes with tiny tables follow the exact law of beam sampling, by enumeration: chi-square over how they end. */

import assert from "node:assert/strict";
import test from "node:test";

import {generatorOf, idsOf, iterations} from "../../visualize/live/decode.js";
import {resolved} from "../../visualize/live/settings.js";
import {RULES} from "../../visualize/live/verify.js";
import {Residual} from "../../visualize/viewer/law.js";
import {binsOf, chiSquare, endOf, exactLaw, pValue, tablePair} from "../../visualize/pages/lab/decode.js";

const RUNS = 3000;
const FALSE_ALARM = 1e-5;
const END = 2;

/* A law of three tokens after every path; the draft model's is between the target's and one of its own. */
function tables(seed, layers) {
  const {uniforms} = generatorOf(seed);
  const law = () => {
    const masses = [...uniforms(3)].map((mass) => mass ** 2 + 0.05);
    return masses.map((mass) => mass / masses.reduce((sum, one) => sum + one, 0));
  };
  const [target, draft] = [{}, {}];
  const grow = (path) => {
    target[path] = law();
    const own = law();
    draft[path] = target[path].map((prob, token) => 0.4 * prob + 0.6 * own[token]);
    if (path.length < layers) for (const token of [0, 1, 2]) grow(path + token);
  };
  grow("");
  return {words: ["a", "b", "c"], layers, target, draft};
}

/* One decode: how it ends, and what it met. */
function decoded(pair, settings, given) {
  const run = iterations(pair, [0], settings, {now: () => 0, ...given});
  const layers = [];
  let step = run.next();
  while (!step.done) {
    const isCall = typeof step.value === "function";
    if (!isCall) layers.push(...step.value.layers);
    step = run.next(isCall ? step.value() : undefined);
  }
  const {beams, finished} = step.value;
  const ends = [...finished, ...beams].map(({node, ...beam}) => ({...beam, path: idsOf(node).join("")}));
  return {end: endOf(ends), layers};
}

/* The p-value of many decodes against the law, every layer of the given width. */
function experiment({settings, widths, eos = [], seed = 1, rules = RULES, runs = RUNS}) {
  const lab = tables(seed, widths.length);
  const chosen = resolved({max_new_tokens: widths.length, top_k: 0, ...settings});
  const pair = {...tablePair(lab), eos: new Set(eos)};
  const law = exactLaw(lab.target, widths, chosen, pair.eos);
  const bins = binsOf(law, runs);
  const [counts, met] = [new Map(), new Set()];
  const generator = generatorOf(seed);
  for (let at = 0; at < runs; at++) {
    const {end, layers} = decoded(pair, chosen, {generator, rules});
    counts.set(end, (counts.get(end) ?? 0) + 1);
    for (const {outcome, trials} of layers) {
      met.add(outcome);
      for (const {verdict} of trials) met.add(verdict);
    }
  }
  assert.ok(bins.length > 5);
  return {p: pValue(chiSquare(bins, counts, runs), bins.length - 1), met, law, counts};
}

const fixed = (width, more = {}) => ({min_width: width, max_width: width, draft_depth: 2, draft_width: 3, ...more});

const EXACT = {
  "with replacement": {settings: fixed(2), widths: [2, 2, 2]},
  "of one beam": {settings: fixed(1, {draft_width: 2}), widths: [1, 1, 1, 1]},
  "without landing": {settings: fixed(2, {landing: false}), widths: [2, 2, 2]},
  "with an end, without replacement": {settings: fixed(2, {replacement: false}), widths: [2, 2, 2], eos: [END]},
  "with cover nodes": {settings: fixed(2, {draft_width: 2, cover_width: 2}), widths: [2, 2, 2], eos: [END]},
  "of a likely forest": {settings: fixed(2, {forest: "likely", draft_width: 4}), widths: [2, 2, 2]},
  "of a likely forest without replacement": {
    settings: fixed(2, {forest: "likely", draft_width: 4, replacement: false}),
    widths: [2, 2, 2],
    eos: [END],
  },
  "after temperature and top-k": {settings: fixed(2, {temperature: 0.7, top_k: 4}), widths: [2, 2, 2]},
  "after temperature and top-p": {settings: fixed(2, {temperature: 1.4, top_p: 0.8}), widths: [2, 2, 2]},
  "of beam sampling": {settings: {method: "beam_sampling", num_beams: 2}, widths: [2, 2, 2]},
  "of speculative sampling": {settings: {method: "speculative", draft_depth: 3}, widths: [1, 1, 1, 1]},
};

/* Catches any error of drafting, verification, the residual, gains, landing, cover nodes or the bonus layer. */
for (const [name, given] of Object.entries(EXACT)) {
  test(`the law ${name} is kept`, () => {
    for (const seed of [1, 2]) {
      const {p} = experiment({...given, seed});
      assert.ok(p > FALSE_ALARM, `p = ${p} with the tables of seed ${seed}`);
    }
  });
}

/* The width of the first layer follows from both laws; below it stands a bonus layer, or the limit ends the decode. */
for (const replacement of [true, false]) {
  test(`a dynamic width keeps the law of its layer, replacement ${replacement}`, () => {
    const widths = new Set();
    for (const [seed, width_threshold] of [
      [1, 0.4],
      [1, 0.9],
      [2, 0.4],
      [2, 0.9],
    ]) {
      const settings = {draft_depth: 1, draft_width: 3, max_width: 2, width_threshold, replacement};
      const chosen = resolved({max_new_tokens: 2, top_k: 0, ...settings});
      const [{width}] = decoded(tablePair(tables(seed, 2)), chosen, {generator: generatorOf(0)}).layers;
      widths.add(width.width);
      assert.ok(experiment({settings, widths: [width.width, 2], seed}).p > FALSE_ALARM);
    }
    assert.ok(widths.size > 1, [...widths].join());
  });
}

const sumOf = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

/* Decoders that are known to be wrong, as changes of the law of a layer's trials; lab.test.js has those of the lab. */
const WRONG = {
  "orphans skipped": class extends Residual {
    note(verdict, at, gain) {
      return verdict === "orphaned" || super.note(verdict, at, gain);
    }
  },
  "c not reset": class extends Residual {
    restart() {
      const {c = 0} = this;
      super.restart();
      this.c = c;
      this.S = sumOf(this.masses());
    }
  },
  "gains forgotten": class extends Residual {
    reject(at) {
      return super.reject(at, 1);
    }
  },
  "accepted pairs left in P": class extends Residual {
    take(at) {
      super.take(at);
      this.removed.clear();
      this.restart();
    }
  },
};

/* Catches a chi-square too weak to see a wrong decoder. Not every pair of tables shows every fault. */
for (const [name, Wrong] of Object.entries(WRONG)) {
  test(`${name}: the law is not kept`, () => {
    const settings = fixed(2, {
      replacement: !["gains forgotten", "accepted pairs left in P"].includes(name),
      draft_width: 4,
    });
    const given = {settings, widths: [2, 2, 2], rules: {...RULES, Residual: Wrong}, runs: 16_000};
    const found = [1, 2, 3, 4, 5, 6].map((seed) => experiment({...given, seed}).p);
    assert.ok(Math.min(...found) < FALSE_ALARM, found.join());
  });
}

/* Catches tables so alike, or so unlike, that paths of the decoder stay untried. */
test("the decodes meet every verdict", () => {
  const {met} = experiment({settings: fixed(2), widths: [2, 2, 2], eos: [END]});
  const verdicts = ["accepted", "rejected", "orphaned", "unneeded", "passed", "landed", "short", "bonus", "finished"];
  assert.deepEqual([...verdicts].sort(), [...met].sort());
});
