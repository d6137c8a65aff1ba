/* What would have happened to the drafts of an iteration with another threshold, least width or random numbers: decided
 * on the recorded numbers alone, layer by layer, and only as far as they still apply. */

import {bounded, reached} from "./chances.js";
import {acceptanceOf, residualOf} from "./residual.js";

/* changes: {width_threshold, min_width, uniforms: {trial: value}}. Returns {layers, stop}: per layer its width and the
 * verdicts with their acceptance probabilities; stop = {layer, reason} where the recorded numbers end, or null. */
export function whatIf(iteration, settings, changes) {
  const asked = {
    ...settings,
    width_threshold: changes.width_threshold ?? settings.width_threshold,
    min_width: changes.min_width ?? settings.min_width,
  };
  const layers = [];
  const isJoint = iteration.trials.some((trial) => trial.joint); // without random numbers
  const together = longest(iteration, changes.uniforms ?? {});
  for (const layer of isJoint ? [] : iteration.layers) {
    const found = tried(iteration, layer, asked, changes.uniforms ?? {}, together);
    layers.push(found);
    if (found.stop) return {layers, stop: {layer: layer.layer, reason: found.stop}};
  }
  return {layers, stop: null};
}

/* How many drafts of a block are accepted together; null where a beginning has no random number, or no block is. */
function longest({beginnings}, uniforms) {
  for (let at = beginnings.length - 1; at >= 0; at--) {
    const uniform = uniforms[at] ?? beginnings[at].uniform;
    if (uniform === null) return null;
    if (uniform < beginnings[at].acceptance) return at + 1;
  }
  return beginnings.length ? 0 : null;
}

function tried(iteration, layer, settings, uniforms, together) {
  const trials = iteration.trials.map((trial, at) => [trial, at]).filter(([trial]) => trial.layer === layer.layer);
  const width =
    layer.kind === "bonus"
      ? layer.width
      : bounded(reached(layer.at_least, settings.width_threshold), layer.support, settings);
  const verdicts = [];
  const accepted = [];
  const alive = new Set(layer.alive);
  let rejections = 0;
  let c = 0;
  let changed = false;
  let stop = null;
  for (const [trial, at] of trials) {
    const node = iteration.nodes[trial.node];
    const S = layer.chain_S[rejections];
    let verdict;
    let acceptance = null;
    if (accepted.length === width) verdict = "unneeded";
    else if (!alive.has(node.parent)) verdict = "orphaned";
    else if (iteration.beginnings.length) {
      if (together === null) {
        stop = "uniform";
        break;
      }
      verdict = layer.layer <= together ? "accepted" : "rejected";
    } else {
      const uniform = uniforms[at] ?? trial.uniform;
      if (uniform === null) {
        stop = "uniform";
        break;
      }
      acceptance = changed || trial.acceptance === null ? chance(node, trial, c, S) : trial.acceptance;
      verdict = uniform < acceptance ? "accepted" : "rejected";
    }
    verdicts.push({trial: at, verdict, acceptance});
    changed ||= verdict !== trial.verdict;
    if (changed && !settings.replacement) {
      stop = "verdict";
      break;
    }
    if (verdict === "accepted") {
      accepted.push(trial.node);
      rejections = c = 0;
    } else if (verdict !== "unneeded" && (layer.chain_S[rejections + 1] ?? 0) > 0) {
      c += S;
      rejections++;
    }
  }
  return {
    layer: layer.layer,
    width,
    verdicts,
    stop: stop ?? ending(iteration, layer, trials, accepted, width, changed),
  };
}

const chance = (node, trial, c, S) =>
  acceptanceOf(residualOf(node.target_prob ?? 0, trial.draft_prob, c, S), trial.draft_prob);

/* Why the recorded numbers end with this layer; null where they go on. */
function ending(iteration, layer, trials, accepted, width, changed) {
  const before = trials.filter(([trial]) => trial.verdict === "accepted").map(([trial]) => trial.node);
  const same =
    [...accepted].sort((one, other) => one - other).join() === [...before].sort((one, other) => one - other).join();
  if (width !== layer.width || !same) return "beams";
  return changed && accepted.length < width ? "draws" : null;
}
