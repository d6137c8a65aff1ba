/* What-if decides again from the recorded numbers, and follows the law of the residual. */

import assert from "node:assert/strict";
import test from "node:test";

import {tokensOf, whatIf} from "../../../../visualize/viewer/law/what_if.js";
import {given, iterationsOf, near} from "../../given.js";

const widthOf = (iteration, settings, changes) => whatIf(iteration, settings, changes).layers[0].width;

for (const [name, {scene}] of Object.entries(given.traces)) {
  const {settings} = scene;
  if (settings.lossless === false) continue; // without random numbers there is nothing to decide again

  /* Catches other verdicts for the recorded numbers: then answers for other numbers mean nothing. */
  test(`without a change everything in ${name} follows`, () => {
    for (const iteration of iterationsOf(scene)) {
      const {layers, stop} = whatIf(iteration, settings, {});
      assert.equal(stop, null);
      const widthsOf = (found) => found.map((layer) => layer.width);
      const verdictsOf = (found) => found.map((one) => one.verdict);
      assert.deepEqual(widthsOf(layers), widthsOf(iteration.layers));
      assert.deepEqual(verdictsOf(layers.flatMap((layer) => layer.verdicts)), verdictsOf(iteration.trials));
    }
  });

  /* Catches a wrong c or S: what follows from the chain must be what was recorded. */
  test(`the acceptance follows from the chain in ${name}`, {skip: !settings.replacement}, () => {
    for (const iteration of iterationsOf(scene)) {
      const recorded = iteration.trials.map((trial) => trial.acceptance);
      for (const trial of iteration.trials) trial.acceptance = null;
      for (const {trial, acceptance} of whatIf(iteration, settings, {}).layers.flatMap((layer) => layer.verdicts)) {
        if (recorded[trial] === null) assert.equal(acceptance, null);
        else near(acceptance, recorded[trial], 1e-9);
      }
    }
  });

  /* Catches a threshold that is read from the wrong side, and a least width that is ignored. */
  test(`other widths follow the recorded chances in ${name}`, () => {
    const [iteration] = iterationsOf(scene);
    const strict = widthOf(iteration, settings, {width_threshold: 1});
    const recorded = widthOf(iteration, settings, {});
    const lax = widthOf(iteration, settings, {width_threshold: 0});
    const wide = widthOf(iteration, settings, {min_width: settings.max_width});
    assert.ok(strict <= recorded && recorded <= lax && lax <= wide);
    if (iteration.layers[0].kind === "draft" && settings.min_width < recorded) assert.ok(strict < wide);
  });
}

/* Catches a verdict on a draft for which no random number was drawn. */
test("a draft that was unneeded and is needed now ends the answer", () => {
  const {scene} = given.traces.toy;
  const {max_width} = scene.settings;
  const stops = iterationsOf(scene).map((one) => whatIf(one, scene.settings, {min_width: max_width}).stop?.reason);
  assert.ok(stops.includes("uniform"), stops.join());
});

/* Catches an answer that goes on where the recorded numbers no longer apply. */
test("another random number changes what follows", () => {
  const {scene} = given.traces.toy;
  const [iteration] = iterationsOf(scene);
  const at = iteration.trials.findIndex((one) => one.verdict === "rejected" && one.acceptance > 0);
  const {layers, stop} = whatIf(iteration, scene.settings, {uniforms: {[at]: 0}});
  const last = layers[layers.length - 1];
  assert.equal(last.verdicts.find((one) => one.trial === at).verdict, "accepted");
  assert.deepEqual(stop, {layer: last.layer, reason: "beams"});
});

/* Catches a pass that ends before or after its recorded end, and a promise that the recorded numbers do not keep. */
for (const [name, {scene}] of Object.entries(given.traces)) {
  test(`a pass brings what was recorded in ${name}, and no more than the law allows`, () => {
    const {settings} = scene;
    if (settings.lossless === false) return;
    for (const iteration of iterationsOf(scene)) {
      const asked = (changes) => tokensOf(iteration, settings, whatIf(iteration, settings, changes));
      assert.deepEqual(asked({}), {count: iteration.layers.length, isOpen: false});
      const tried = iteration.trials.flatMap((trial, at) => (trial.uniform === null ? [] : [at]));
      const all = (value) => ({uniforms: Object.fromEntries(tried.map((at) => [at, value]))});
      const none = asked(all(1));
      if (iteration.trials.some((trial) => trial.residual_prob === null)) continue;
      if (settings.replacement && !settings.landing && tried.length) assert.deepEqual(none, {count: 1, isOpen: false});
      for (let width = 1; width <= settings.max_width; width++) {
        const {count, isOpen} = asked({min_width: width, max_width: width});
        assert.ok(count >= 1 && count <= iteration.layers.length + 1);
        const drafted = iteration.layers.filter((layer) => layer.kind === "draft");
        const isSame = drafted.every((layer) => layer.width === width);
        if (isSame) assert.deepEqual({count, isOpen}, {count: iteration.layers.length, isOpen: false});
      }
    }
  });
}
