/* What would have happened with another threshold, least width or random number. The drafts are decided again, layer by
 * layer, from the recorded numbers alone, as far as these still apply. */

import {acceptedTogether, verdictInBlock} from "./block.js";
import {bounded, reached} from "./chances.js";
import {Trials, verdictOf} from "./trials.js";

/* changes: {width_threshold, min_width, uniforms: {trial: value}}. Returns {layers, stop}: per layer its width and the
 * verdicts with their acceptance probabilities; stop = {layer, reason} where the recorded numbers end, or null. */
export function whatIf(iteration, settings, {uniforms = {}, ...changes}) {
  const layers = [];
  for (const layer of iteration.layers) {
    const {stop, ...found} = decided(iteration, layer, {...settings, ...changes}, uniforms);
    layers.push(found);
    if (stop) return {layers, stop: {layer: layer.layer, reason: stop}};
  }
  return {layers, stop: null};
}

function decided(iteration, layer, settings, uniforms) {
  const width =
    layer.kind === "bonus"
      ? layer.width
      : bounded(reached(layer.at_least, settings.width_threshold), layer.support, settings);
  const trials = new Trials({...layer, width});
  const verdicts = [];
  const found = {layer: layer.layer, width, verdicts};
  const tests = iteration.beginnings.map((one, at) => ({...one, uniform: uniforms[at] ?? one.uniform}));
  const together = acceptedTogether(tests);
  const isBlock = tests.length > 0;
  const isOpen = tests.slice(together).some(({uniform}) => uniform === null);
  let changed = false;
  for (const [at, trial] of iteration.trials.entries()) {
    if (trial.layer !== layer.layer) continue;
    const {parent, target_prob} = iteration.nodes[trial.node];
    const uniform = uniforms[at] ?? trial.uniform;
    let verdict = trials.untried(parent);
    let acceptance = null;
    if (!verdict) {
      if (isBlock ? isOpen : uniform === null) return {...found, stop: "uniform"};
      if (isBlock) verdict = verdictInBlock(layer.layer, together);
      else {
        acceptance = changed ? null : trial.acceptance;
        acceptance ??= trials.acceptance(target_prob ?? 0, trial.draft_prob);
        verdict = verdictOf(uniform, acceptance);
      }
    }
    verdicts.push({trial: at, verdict, acceptance});
    changed ||= verdict !== trial.verdict;
    if (changed && !settings.replacement) return {...found, stop: "verdict"};
    trials.note(verdict, trial.node);
  }
  return {...found, stop: stopAfter(iteration, layer, trials, changed)};
}

/* Why the recorded numbers do not apply after this layer; null if they do. */
function stopAfter(iteration, layer, {accepted, width}, changed) {
  const recorded = iteration.trials.filter((trial) => trial.layer === layer.layer && trial.verdict === "accepted");
  const sorted = (nodes) => [...nodes].sort((one, other) => one - other).join();
  if (width !== layer.width || sorted(accepted) !== sorted(recorded.map((trial) => trial.node))) return "beams";
  return changed && accepted.length < width ? "draws" : null;
}

/* How many tokens the pass brings as decided. isOpen: it may bring more, but the recorded numbers end there. */
export function tokensOf(iteration, settings, {layers, stop}) {
  if (!stop) return {count: iteration.layers.length, isOpen: false};
  const {width, verdicts} = layers[layers.length - 1];
  const accepted = verdicts.filter(({verdict}) => verdict === "accepted");
  if (["uniform", "verdict"].includes(stop.reason)) return {count: stop.layer, isOpen: true};
  if (accepted.length < width) return {count: stop.layer, isOpen: settings.landing};
  const goesOn = accepted.some(({trial}) => !iteration.nodes[iteration.trials[trial].node].ends);
  return {count: stop.layer + Number(goesOn), isOpen: goesOn};
}
