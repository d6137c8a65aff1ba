/* The badge passes what verify-trace passes, and nothing else: test_audit.py gives the altered scenes of a trace. */

import assert from "node:assert/strict";
import test from "node:test";

import {conclusion, recheck} from "../../../../visualize/viewer/law/audit.js";
import {given, iterationsOf} from "../../given.js";

for (const {what, scene} of given.altered) {
  test(what, () => {
    const reports = iterationsOf(scene).map((iteration) => recheck(iteration, scene.settings));
    const {failure, told} = conclusion(reports, scene.evidence);
    assert.equal(failure === null && told === null, scene.evidence.passed, JSON.stringify(failure));
  });
}
