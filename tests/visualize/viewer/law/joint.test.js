/* The joint law of the toy of docs/algorithm.md, with numbers that are written down there. */

import assert from "node:assert/strict";
import test from "node:test";

import {jointLaw} from "../../../../visualize/viewer/law/joint.js";

const ROWS = [
  [2 / 3, 1 / 6, 1 / 6],
  [1, 0, 0],
].map((row) => row.map(Math.log));
const PLAIN = {temperature: 1, top_k: 0, top_p: 1, replacement: true};

function probsOf(changes, count = 1) {
  const beams = [
    {log_weight: Math.log(3 / 4), multiplicity: 1},
    {log_weight: Math.log(1 / 4), multiplicity: count},
  ];
  return jointLaw(ROWS, beams, {...PLAIN, ...changes}, 3).probs.map((prob) => Number(prob.toFixed(6)));
}

/* Catches a multiplicity that is forgotten, or divided by the temperature: an enumeration by the same law cannot. */
test("the joint law of the toy", () => {
  assert.deepEqual(probsOf({}), [0.5, 0.125, 0.125, 0.25]);
  assert.deepEqual(probsOf({}, 2), [0.4, 0.1, 0.1, 0.4]);
  assert.deepEqual(probsOf({temperature: 0.5}, 2), [0.615385, 0.038462, 0.038462, 0.307692]);
  assert.deepEqual(probsOf({top_p: 0.7}), [0.666667, 0.333333]);
  assert.deepEqual(probsOf({top_k: 3}), [0.571429, 0.142857, 0.285714]);
  assert.deepEqual(probsOf({temperature: 0}), [1]);
  assert.deepEqual(probsOf({temperature: 0, replacement: false}), [1, 0, 0, 0]);
});
