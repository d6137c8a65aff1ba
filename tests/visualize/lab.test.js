/* The lab of a lesson: its decodes follow the distribution, and its broken decoders are caught. */

import assert from "node:assert/strict";
import test from "node:test";

import {Experiment, binsOf, chiSquare, exactDistribution, limitOf} from "../../visualize/pages/lab/decode.js";
import {given, near} from "./given.js";

const {pair, distributions} = given;
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

function experimentOf({tables = pair, ...changes}) {
  const settings = {runs: 20_000, seed: 7, width: 2, depth: 2, guesses: 3, decoder: "dsbd", ...changes};
  const experiment = new Experiment(tables, settings);
  while (experiment.done < settings.runs) experiment.once();
  return experiment;
}

/* Catches a lab that compares with another distribution than the decoder's. */
test("the exact distribution is that of the oracle", () => {
  for (const [tables, width, expected] of distributions) {
    const actual = exactDistribution(tables, width);
    assert.deepEqual([...actual.keys()].sort(), Object.keys(expected).sort());
    for (const [end, prob] of Object.entries(expected)) near(actual.get(end), prob, 1e-12, end);
  }
});

/* Catches an error of drafting, verification, residual, landing or bonus: each changes the distribution of the ends. */
test("many decodes follow the distribution", () => {
  const {square, freedom, counts} = experimentOf({});
  assert.equal(sumOf([...counts.values()]), 20_000);
  assert.ok(square < limitOf(freedom, 3.719));
});

for (const decoder of ["accept_all", "forget_residual", "warp_twice", "draft_alone"]) {
  /* Catches a switch that breaks nothing, and a test that cannot fail. */
  test(`${decoder} is caught`, () => {
    const temperature = decoder === "warp_twice" ? 0.7 : 1;
    for (const width of [1, 2]) {
      const {square, limit} = experimentOf({runs: 5_000, width, guesses: width === 2 ? 3 : 1, decoder, temperature});
      assert.ok(square > 10 * limit);
    }
  });
}

/* Catches a rest of rare ends that is left out, and a forbidden end that passes. */
test("chi-square counts rare ends together", () => {
  const bins = binsOf(new Map(Object.entries({a: 0.6, b: 0.393, c: 0.004, d: 0.003})), 1000);
  assert.equal(bins.map(({ends}) => ends.join("")).join(), "a,b,cd");
  const squareOf = (counts) => chiSquare(bins, new Map(Object.entries(counts)), 1000);
  near(squareOf({a: 580, b: 405, c: 9, d: 6}), 20 ** 2 / 600 + 12 ** 2 / 393 + 8 ** 2 / 7, 1e-9);
  assert.equal(squareOf({a: 999, z: 1}), Infinity);
});
