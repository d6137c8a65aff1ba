/* The badge: the browser decides everything again. test_audit.py has the traces that were tampered with. */

import assert from "node:assert/strict";
import test from "node:test";

import {recheck} from "../../../../visualize/viewer/law/audit.js";
import {given, iterationsOf} from "../../given.js";

for (const [name, {scene}] of Object.entries(given.traces)) {
  test(`every decision of ${name} follows`, () => {
    for (const iteration of iterationsOf(scene)) {
      const {trials, draws, beginnings, layers} = iteration;
      const isJoint = scene.settings.lossless === false; // decided by the audit alone
      const checks = isJoint ? 0 : trials.length + draws.length + beginnings.length + 3 * layers.length;
      assert.deepEqual(recheck(iteration, scene.settings), {checks, failure: null});
    }
  });
}
