/* The badge: the browser decides everything again, and names what was tampered with. */

import assert from "node:assert/strict";
import test from "node:test";

import {recheck} from "../../../../visualize/viewer/law/audit.js";
import {given, iterationsOf} from "../../given.js";

const isSure = ({acceptance}) => !acceptance || acceptance >= 1;

/* Each changes one decision of an iteration, and returns its layer; nothing where there is none of the kind. */
const TAMPERINGS = {
  uniform({trials}) {
    const trial = trials.find((one) => !isSure(one));
    if (trial) trial.uniform = trial.verdict === "rejected" ? trial.acceptance / 2 : trial.acceptance;
    return trial?.layer;
  },
  verdict({trials}) {
    const trial = trials.find((one) => one.verdict === "rejected");
    if (trial) trial.verdict = "accepted";
    return trial?.layer;
  },
  draw({draws}) {
    const draw = draws.find((one) => one.cdf_low > 0 || one.cdf_high < 1);
    if (draw) draw.uniform = draw.cdf_high < 1 ? (draw.cdf_high + 1) / 2 : draw.cdf_low / 2;
    return draw?.layer;
  },
  drawS({draws}) {
    const draw = draws.find((one) => one.S !== null);
    if (draw) draw.S *= 1.001;
    return draw?.layer;
  },
  draftProb({trials}) {
    if (trials.length) trials[0].draft_prob *= 1.01;
    return trials[0]?.layer;
  },
  beginning({beginnings}) {
    if (beginnings.length) beginnings[beginnings.length - 1].acceptance *= 1 - 1e-6;
    return beginnings.length;
  },
  accepted({layers}) {
    layers[0].accepted++;
    return 1;
  },
  outcome({layers}) {
    const layer = layers[layers.length - 1];
    layer.outcome = layer.outcome === "short" ? "landed" : "short";
    return layers.length;
  },
  width({layers}) {
    layers[layers.length - 1].width++;
    return layers.length;
  },
  widthUniform({layers}) {
    const layer = layers.find((one) => one.width_uniform !== null);
    if (layer) layer.width_uniform = (layer.width_uniform + 0.5) % 1;
    return layer?.layer;
  },
  /* P(accepted >= k) that does not follow from the chain. */
  chances({layers}) {
    const layer = layers.find((one) => one.kind === "draft" && one.forest_mass === null && one.chain_S.length > 1);
    if (layer) layer.at_least[0] = layer.at_least[0] / 2 + 0.01;
    return layer?.layer;
  },
};

for (const [name, {scene}] of Object.entries(given.traces)) {
  test(`every decision of ${name} follows`, () => {
    for (const iteration of iterationsOf(scene)) {
      const {trials, draws, beginnings, layers} = iteration;
      const checks = trials.length + draws.length + beginnings.length + 3 * layers.length;
      assert.deepEqual(recheck(iteration, scene.settings), {checks, failure: null});
    }
  });

  test(`a tampered decision of ${name} is named`, () => {
    for (const [kind, tamper] of Object.entries(TAMPERINGS)) {
      for (const iteration of iterationsOf(structuredClone(scene))) {
        const layer = tamper(iteration);
        if (!layer) continue;
        const {failure} = recheck(iteration, scene.settings);
        assert.equal(failure?.layer, layer, `${kind} in iteration ${iteration.number}`);
      }
    }
  });
}

/* Catches a re-check that takes the sums, the threshold or the verdicts of a joint test as recorded. */
test("a joint test is decided again", () => {
  assert.ok(Object.keys(given.joint).length > 2);
  for (const [what, scene] of Object.entries(given.joint)) {
    assert.ok(
      iterationsOf(scene).some((iteration) => recheck(iteration, scene.settings).failure),
      what,
    );
  }
});
