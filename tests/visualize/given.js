/* What Python says to the questions of the tests: test_javascript.py writes it. And what several tests need. */

import assert from "node:assert/strict";
import {readFileSync} from "node:fs";

import {Scene} from "../../visualize/viewer/scene.js";

export const given = JSON.parse(readFileSync(process.env.DSBD_GIVEN, "utf8"));

/* The scenes of all traces, by name. */
export const scenes = Object.fromEntries(
  Object.entries(given.traces ?? {}).map(([name, {trace}]) => [name, new Scene(trace)]),
);

export function near(actual, expected, within, about = "") {
  assert.ok(Math.abs(actual - expected) <= within, `${about} ${actual} is not ${expected}`);
}
