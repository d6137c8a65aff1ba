/* Decodes by DSBD: docs/algorithm.md, *One iteration*, with landing. The viewer's law decides the trials, and what is
 * returned has the fields of a trace, so that the viewer's re-check can decide it again. */

import {Trials, chainOf, verdictOf} from "../../viewer/law/trials.js";
import {START, beamsAt, drawFrom, jointLaw} from "./beams.js";

const NO_DRAFTS = {law: {paths: [], probs: []}, drafts: []};

/* pair: {layers, target, draft}, two tables. settings: {depth, guesses, width, accept_all}. random() is in [0, 1).
 * Returns the last beams and all passes of the target, each a list of layers. */
export function decode(pair, settings, random) {
  const passes = [];
  let beams = START;
  for (let length = 0; length < pair.layers; length += passes[passes.length - 1].length) {
    const depth = Math.min(settings.depth, pair.layers - length - 1);
    const pass = verified(drafted(beams, pair.draft, depth, settings.guesses, random), beams, pair, settings, random);
    passes.push(pass);
    beams = pass[pass.length - 1].beams;
  }
  return {beams, passes};
}

/* The draft model's beam sampling from the target's beams: a law and its drafts for every layer. */
function drafted(beams, table, depth, guesses, random) {
  const forest = [];
  let above = beams;
  for (let layer = 0; layer < depth; layer++) {
    const law = jointLaw(above, table);
    const drafts = Array.from({length: guesses}, () => drawFrom(law.probs, random()).at);
    forest.push({law, drafts});
    above = beamsAt(law, drafts);
  }
  return forest;
}

function verified(forest, beams, pair, settings, random) {
  const layers = [];
  let alive = beams;
  for (const draft of forest) {
    if (!draft.law.paths.some((path) => alive.some((beam) => beam.path === parentOf(path)))) break;
    const layer = decided("draft", alive, pair.target, draft, settings, random);
    layers.push(layer);
    if (layer.outcome === "short") return layers;
    alive = layer.beams;
  }
  layers.push(decided("bonus", alive, pair.target, NO_DRAFTS, settings, random));
  return layers;
}

const parentOf = (path) => path.slice(0, -1);

/* One layer: the drafts are tried, then draws fill the width. */
function decided(kind, beams, table, draft, {width, accept_all}, random) {
  const law = jointLaw(beams, table);
  const chances = new Map(draft.law.paths.map((path, at) => [path, draft.law.probs[at]]));
  const draftProbs = law.paths.map((path) => chances.get(path) ?? 0);
  const alive = beams.map(({path}) => path);
  const chain_S = chainOf(law.probs, draftProbs, draft.drafts.length);
  const state = new Trials({kind, width, alive, chain_S});
  const drafts = draft.drafts.map((at) => ({path: draft.law.paths[at], draft_prob: draft.law.probs[at]}));
  const trials = drafts.map((one) => tried(one, law, state, accept_all, random));
  const accepted = state.accepted.length;
  const draws = [];
  while (state.accepted.length < width) {
    const {c, S} = state;
    const uniform = random();
    const {at, low, high} = drawFrom(
      law.probs.map((prob, pair) => state.residual(prob, draftProbs[pair])),
      uniform,
    );
    const path = law.paths[at];
    const landed = drafts.some((one) => one.path === path);
    const probs = {target_prob: law.probs[at], draft_prob: draftProbs[at]};
    draws.push({kind: state.drawKind(), path, landed, ...probs, c, S, uniform, cdf_low: low, cdf_high: high});
    state.note("accepted", at);
  }
  const outcome = state.ending(
    draws.map((draw) => draw.landed),
    true,
  );
  return {kind, law, alive, chain_S, trials, accepted, draws, outcome, beams: beamsAt(law, state.accepted)};
}

function tried({path, draft_prob}, law, state, acceptAll, random) {
  const trial = {path, draft_prob, c: null, S: null, residual_prob: null, acceptance: null, uniform: null};
  trial.verdict = state.untried(parentOf(path));
  if (trial.verdict === "unneeded") return trial;
  const at = law.paths.indexOf(path);
  Object.assign(trial, {c: state.c, S: state.S});
  if (!trial.verdict) {
    const target = at < 0 ? 0 : law.probs[at];
    trial.residual_prob = state.residual(target, draft_prob);
    trial.acceptance = acceptAll && at >= 0 ? 1 : state.acceptance(target, draft_prob);
    trial.uniform = random();
    trial.verdict = verdictOf(trial.uniform, trial.acceptance);
  }
  // Where rounding leaves nothing after a rejection, P' = Q: the draft is accepted instead.
  if (!state.note(trial.verdict, at) && trial.verdict === "rejected" && at >= 0) {
    Object.assign(trial, {verdict: "accepted", acceptance: 1});
    state.note("accepted", at);
  }
  return trial;
}
