/* The distribution, and the view in which the reader changes it: cut and fill. */

import assert from "node:assert/strict";
import test from "node:test";

import {barsOf, shares} from "../../visualize/viewer/turn.js";
import {bestOf, bounded, drawFrom, jointDistribution, reached, verdictOf} from "../../visualize/viewer/distribution.js";
import {near, scenes} from "./given.js";

/* The toy of docs/algorithm.md. Catches a nucleus that takes one candidate more where the mass is reached exactly. All
 * else of a joint distribution, and the trials of a layer, are in the traces that both languages write: test_live.py.
 * */
test("the nucleus where its mass is reached", () => {
  const rows = [
    [2 / 3, 1 / 6, 1 / 6],
    [1, 0, 0],
  ].map((row) => row.map(Math.log));
  const beams = [3 / 4, 1 / 4].map((prob) => ({log_weight: Math.log(prob), multiplicity: 1}));
  const settings = {temperature: 1, top_k: 0, replacement: true};
  const distributionOf = (top_p) =>
    jointDistribution(rows, beams, {...settings, top_p}, 3).probs.map((prob) => prob.toFixed(6));
  assert.deepEqual(distributionOf(0.75), ["0.666667", "0.333333"]);
  assert.deepEqual(distributionOf(0.751), ["0.571429", "0.142857", "0.285714"]);
});

/* Catches > in place of >=, and a bound that is left out: no recorded layer has so few candidates. */
test("the width at the edges where one sign decides", () => {
  const counts = [
    [[0.9, 0.5], 0.5, 2],
    [[0.9, 0.5], 0.5000001, 1],
    [[0.9, 0.5], 0.95, 0],
    [[1, 0], 0, 2],
    [[], 0.5, 0],
  ];
  for (const [chances, threshold, count] of counts) assert.equal(reached(chances, threshold), count);
  const either = {min_width: 1, max_width: 8, replacement: false};
  const widths = [
    [5, 3, {}, 3],
    [5, 3, {replacement: true}, 5],
    [0, 3, {}, 1],
    [9, 30, {}, 8],
    [2, 3, {min_width: 4, max_width: 4}, 3],
  ];
  for (const [count, support, changes, width] of widths) {
    assert.equal(bounded(count, support, {...either, ...changes}), width);
  }
});

/* Catches a number on the edge of an interval that goes to its neighbour, or to a candidate of no mass, a chance that
 * is just reached, and a tie that goes to the later candidate. */
test("draws, verdicts and ties where one sign decides", () => {
  const cases = [
    [0, 0, 0, 0.25],
    [0.25, 2, 0.25, 0.5],
    [0.5, 3, 0.5, 1],
    [0.999, 3, 0.5, 1],
  ];
  for (const [uniform, at, low, high] of cases) assert.deepEqual(drawFrom([1, 0, 1, 2], uniform), {at, low, high});
  assert.deepEqual([verdictOf(0.49, 0.5), verdictOf(0.5, 0.5)], ["accepted", "rejected"]);
  assert.deepEqual(bestOf([1, 2, -Infinity, 2, 1], 3), [1, 3, 0]);
});

for (const [name, {iterations}] of Object.entries(scenes)) {
  /* Catches all other words as one word: then more is kept in the picture than by the distribution. */
  test(`what is kept follows the chain in ${name}`, () => {
    for (const layer of iterations.flatMap(({layers}) => layers)) {
      const bins = barsOf(layer, "others");
      if (!bins || layer.chain_S.length < 2) continue;
      const parts = bins.map(shares);
      const sum = (kind) => parts.reduce((before, share) => before + share[kind], 0);
      const named = parts.slice(0, -1).reduce((before, {kept}) => before + kept, 0);
      const {target, draft} = bins[bins.length - 1];
      const most = named + Math.min(target, draft);
      near(sum("kept"), Math.min(Math.max(1 - layer.chain_S[1], named), most), 1e-9);
      bins.forEach((bin, at) => near(parts[at].kept + parts[at].filled, bin.target, 1e-9));
      bins.forEach((bin, at) => near(parts[at].kept + parts[at].cut, bin.draft, 1e-9));
      assert.ok(parts.every((share) => Object.values(share).every((value) => value >= -1e-12)));
    }
  });
}
