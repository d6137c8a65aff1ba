/* "Be the large model" asks what the law decides, and shows numbers from which the verdict follows. */

import assert from "node:assert/strict";
import test from "node:test";

import {Game, numbersOf, openIn} from "../../../visualize/viewer/views/game.js";
import {given, iterationsOf} from "../given.js";

/* The pass that a reader is led to who is in pass `it`. */
function passFrom(scene, it) {
  const passes = iterationsOf(scene);
  return Object.assign(Object.create(Game.prototype), {viewer: {scene, it, iteration: (at) => passes[at]}}).pass;
}

for (const [name, {scene}] of Object.entries(given.traces)) {
  /* Catches a question about an orphan, an unneeded guess or a block, and a rule that gives another verdict. */
  test(`the rule decides every guess that is asked in ${name}`, () => {
    for (const iteration of iterationsOf(scene)) {
      const open = openIn(iteration);
      for (const {verdict, uniform, residual_prob, draft_prob} of open.map((place) => iteration.trials[place])) {
        assert.equal(uniform < Math.min(1, residual_prob / draft_prob) ? "accepted" : "rejected", verdict);
      }
      const decided = iteration.trials.filter(({verdict}) => ["accepted", "rejected"].includes(verdict));
      if (open.length) assert.equal(open.length, decided.length);
    }
  });
}

/* Catches two digits that say the opposite of what was decided. */
test("numbers that lie close together are shown with more digits", () => {
  const close = {residual_prob: 0.5012, draft_prob: 0.9981, uniform: 0.5016, verdict: "accepted"};
  assert.deepEqual(numbersOf(close), ["0.501", "0.998", "0.502"]);
  assert.deepEqual(numbersOf({...close, uniform: 0.1}), ["0.50", "1.00", "0.10"]);
});

/* Catches a turn that is offered where nothing is to be decided, and one that leaves a pass with questions. */
test("the turn is in the pass that is shown, else in the first with something to decide", () => {
  assert.equal(passFrom(given.traces.joint.scene, 0), -1);
  const {scene} = given.traces.narrow;
  const passes = iterationsOf(scene);
  const first = passes.findIndex((now) => openIn(now).length);
  assert.ok(passes.some((now) => !openIn(now).length));
  passes.forEach((now, it) => assert.equal(passFrom(scene, it), openIn(now).length ? it : first));
  assert.equal(passFrom({...scene, settings: {}}, 0), -1);
});
