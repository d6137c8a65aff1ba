/* The width that follows from the chances of a layer, at the edges where one sign decides. */

import assert from "node:assert/strict";
import test from "node:test";

import {bounded, drawnWidth, reached} from "../../../../visualize/viewer/law/chances.js";

/* Catches > in place of >=: the re-check allows for rounding and does not see it. */
test("a chance that equals the threshold reaches it", () => {
  assert.equal(reached([0.9, 0.5], 0.5), 2);
  assert.equal(reached([0.9, 0.5], 0.5000001), 1);
  assert.equal(reached([0.9, 0.5], 0.95), 0);
  assert.equal(reached([1, 0], 0), 2);
  assert.equal(reached([], 0.5), 0);
});

/* Catches a bound that is left out: no recorded layer has so few pairs. */
test("without replacement no layer is wider than its pairs", () => {
  const either = {min_width: 1, max_width: 8};
  assert.equal(bounded(5, 3, {...either, replacement: false}), 3);
  assert.equal(bounded(5, 3, {...either, replacement: true}), 5);
  assert.equal(bounded(0, 3, {...either, replacement: false}), 1);
  assert.equal(bounded(9, 30, {...either, replacement: false}), 8);
  assert.equal(bounded(2, 3, {min_width: 4, max_width: 4, replacement: false}), 3);
});

/* Catches weights that are counted from another width than the least. */
test("a drawn width has its interval", () => {
  const settings = {min_width: 1, width_weights: [1, 0, 3]};
  const found = [0, 1, 2, 3].map((width) => drawnWidth(width, settings));
  assert.deepEqual(found, [
    [0, 0],
    [0, 0.25],
    [0.25, 0.25],
    [0.25, 1],
  ]);
});
