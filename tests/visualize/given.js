/* What Python says to the questions of the tests: test_javascript.py writes it. And what several tests need. */

import assert from "node:assert/strict";
import {readFileSync} from "node:fs";

import {Iteration} from "../../visualize/viewer/forest/iteration.js";

export const given = JSON.parse(readFileSync(process.env.DSBD_GIVEN, "utf8"));

export const iterationsOf = (scene) => scene.iterations.map((packed) => new Iteration(packed));

export function near(found, expected, within, about = "") {
  assert.ok(Math.abs(found - expected) <= within, `${about} ${found} is not ${expected}`);
}
