/* The noise of coupled draws: published numbers, and those of Python. */

import assert from "node:assert/strict";
import test from "node:test";

import {Noise, philox} from "../../visualize/live/noise.js";
import {given, near} from "./given.js";

test("philox gives the published numbers", () => {
  for (const {key, counter, words} of given.philox) assert.deepEqual(philox(key, counter), words);
});

/* Catches a seed or a token that loses bits, a product that loses its carry, and a hash in another order. */
test("the noise is Python's", () => {
  for (const {seed, prompt, path, values} of given.noise) {
    const root = {parent: null, token: prompt.at(-1)};
    const nodes = path.slice(0, -1).reduce((parent, token) => ({parent, token}), root);
    const noise = new Noise(seed, prompt, root);
    noise.gumbel(nodes, path.at(-1), values.length).forEach((value, draw) => near(value, values[draw], 1e-12));
  }
});
