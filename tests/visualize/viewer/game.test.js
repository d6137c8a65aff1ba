/* "Be the large model" asks what the law decides, and shows numbers from which the verdict follows. */

import assert from "node:assert/strict";
import test from "node:test";

import {GamePanel, numbersOf} from "../../../visualize/viewer/views/game.js";
import {given, iterationsOf} from "../given.js";

const panelOf = (scene, now) => Object.assign(new GamePanel(), {viewer: {scene, now}});

for (const [name, {scene}] of Object.entries(given.traces)) {
  /* Catches a question about an orphan, an unneeded guess or a block, and a rule that gives another verdict. */
  test(`the rule decides every guess that is asked in ${name}`, () => {
    for (const iteration of iterationsOf(scene)) {
      const {open} = panelOf(scene, iteration);
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

/* Catches a game without questions. */
test("a pass without random numbers says why there is nothing to decide", () => {
  const [joint] = iterationsOf(given.traces.joint.scene);
  assert.equal(panelOf(given.traces.joint.scene, joint).obstacle, "game.nothing");
  const {toy} = given.traces;
  assert.equal(panelOf(toy.scene, iterationsOf(toy.scene)[1]).obstacle, "");
});
