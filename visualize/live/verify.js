/* Verification: decides layer by layer which drafts become beams of the target. No model: docs/algorithm.md, *One
 * iteration*. dsbd/verification/verify.py decides the same from the same numbers. */

import {
  Residual,
  alphasOf,
  bounded,
  chainOf,
  drawFrom,
  bestOf,
  exactlyOf,
  jointDistribution,
  reached,
  reasonOf,
  tailsOf,
  verdictOf,
} from "../viewer/distribution.js";

/** @import {ForestLayer, LayerWidth, LiveBeam, LiveDraw, LiveNode, LiveTrial, VerifiedLayer} from "../viewer/types" */

/* What verification decides by; a lesson puts a broken rule in place of one of them. */
export const RULES = {jointDistribution, Residual};

/** @type {Omit<LiveTrial, "node" | "order" | "verdict" | "draft_prob">} */
const UNTRIED = {residual_prob: null, c: null, S: null, acceptance: null, uniform: null};

/** The decided layers, at least one.
 * @typedef {object} Task what there is to verify
 * @property {import("./decode.js").Forest} forest
 * @property {(node: LiveNode) => Float64Array} nextTokensAfter the target's raw log-probabilities after a node
 * @property {any} settings @property {number} size @property {Set<number>} eos
 * @property {() => number} uniform the next random number
 * @property {import("./noise.js").Noise} noise of coupled draws
 * @property {typeof RULES} rules
 * @param {Task} task @returns {VerifiedLayer[]} */
export function verified(task) {
  let alive = task.forest.beams;
  const decided = [];
  for (const guessed of task.forest.layers) {
    const entry = entered(task, alive, guessed);
    if (!entry.hasMass) break;
    const width = widthOf(task, entry);
    const residual = residualOver(task, entry, "draft", width.width);
    const layer = completed(task, entry, width, residual, triedAll(task, entry, residual));
    decided.push(layer);
    if (!["passed", "landed"].includes(layer.outcome)) return decided;
    alive = layer.living;
  }
  return [...decided, bonus(task, alive)];
}

/* What is counted of trials and draws, as dsbd/results.py does. */
export const COUNTED = {
  verdict: ["accepted", "rejected", "orphaned", "unneeded"],
  kind: ["recovered", "guessed", "fresh", "bonus"],
};

/** A layer before its first trial: both distributions, Q restricted to the alive beams and not renormalised.
 * @param {Task} task @param {LiveBeam[]} alive @param {ForestLayer | null} guessed */
function entered({nextTokensAfter, settings, size, rules}, alive, guessed) {
  const distribution = rules.jointDistribution(
    alive.map(({node}) => nextTokensAfter(node)),
    alive,
    settings,
    size,
  );
  const beamOf = new Map(alive.map(({node}, beam) => [node, beam]));
  const draft_probs = distribution.probs.map(() => 0);
  let hasMass = false;
  guessed?.distribution.candidates.forEach((candidate, at) => {
    const beam = beamOf.get(guessed.distribution.parents[Math.floor(candidate / size)]);
    if (beam === undefined) return;
    hasMass = true;
    const index = distribution.find(beam, candidate % size);
    if (index !== undefined) draft_probs[index] = guessed.distribution.probs[at];
  });
  if (settings.forest === "coupled") hasMass = Boolean(guessed?.untested.some(({parent}) => beamOf.has(parent)));
  return {alive, distribution, beamOf, draft_probs, hasMass, guessed};
}

const residualOver = ({settings, rules}, {alive, distribution, draft_probs}, kind, width) =>
  new rules.Residual(
    {kind, width, alive: alive.map(({node}) => node)},
    distribution,
    draft_probs,
    settings.replacement,
  );

/** The width of a layer and what it follows from: both distributions. That of a coupled forest is fixed.
 * @param {Task} task @param {ReturnType<typeof entered>} entry @returns {LayerWidth} */
function widthOf({settings}, {distribution, draft_probs, guessed}) {
  const support = distribution.candidates.length;
  if (settings.forest === "coupled") {
    return {width: bounded(0, support, settings), width_reason: "min_width", ...chainNumbers([1], [])};
  }
  const {length} = guessed.drafts;
  const planned = settings.replacement ? length : Math.min(length, guessed.distribution.candidates.length);
  const chain_S = chainOf(distribution.probs, draft_probs, planned);
  const numbers = chainNumbers(chain_S, alphasOf(chain_S));
  const count = reached(tailsOf(numbers.accepted_distribution), settings.width_threshold);
  return {width: bounded(count, support, settings), width_reason: reasonOf(count, support, settings), ...numbers};
}

/* What a width follows from, with the names of a trace. */
function chainNumbers(chain_S, alphas) {
  const chain_c = chain_S.slice(0, 1).fill(0);
  while (chain_c.length < chain_S.length) chain_c.push(chain_c[chain_c.length - 1] + chain_S[chain_c.length - 1]);
  return {
    draws_planned: alphas.length,
    chain_c,
    chain_S,
    acceptance_chain: alphas,
    accepted_distribution: chain_S.length ? exactlyOf(alphas) : [],
  };
}

/** Tries the drafts in the order they were drawn.
 * @param {Task} task @param {ReturnType<typeof entered>} entry @param {Residual} residual @returns {LiveTrial[]} */
function triedAll(task, {distribution, beamOf, guessed}, residual) {
  const gains = gainsOf(guessed, task.settings);
  return guessed.drafts.map((node, order) => {
    const draft_prob = guessed.distribution.isRanked ? 1 : Math.min(guessed.draft_probs[order] * gains[order], 1);
    /** @type {LiveTrial} */
    const trial = {node, order, verdict: residual.untried(node.parent), draft_prob, ...UNTRIED};
    if (trial.verdict === "unneeded") return trial;
    Object.assign(trial, residual.recorded);
    let at = null;
    if (!trial.verdict) {
      at = distribution.find(beamOf.get(node.parent), node.token) ?? null;
      trial.residual_prob = residual.left(at);
      trial.acceptance = residual.chance(at, draft_prob);
      trial.uniform = task.uniform();
      trial.verdict = verdictOf(trial.uniform, trial.acceptance);
    }
    const isNoted = residual.note(trial.verdict, at, gains[order]);
    if (!isNoted && trial.residual_prob > 0) {
      // P' = Q up to rounding: every draft is accepted
      Object.assign(trial, {verdict: "accepted", acceptance: 1});
      residual.note("accepted", at);
    }
    return trial;
  });
}

/* The k-th draft came from Q times gain k on the candidates that were left: without replacement, 1 / the rest of Q. */
function gainsOf({draft_probs, rest, distribution}, {replacement}) {
  if (replacement || distribution.isRanked) return draft_probs.map(() => 1);
  let left = rest;
  const gains = [...draft_probs].reverse().map((prob) => 1 / (left += prob));
  return gains.reverse();
}

/** Draws the beams that are missing, and merges equal ones.
 * @param {Task} task @param {ReturnType<typeof entered>} entry @param {LayerWidth} width @param {Residual} residual
 * @param {LiveTrial[]} trials @returns {VerifiedLayer} */
function completed(task, entry, width, residual, trials) {
  const {forest, settings, size, eos, uniform} = task;
  const {alive, distribution, draft_probs} = entry;
  const accepted = residual.accepted.length;
  /** @type {LiveDraw[]} */ const draws = [];
  const nodes = new Map(); // by the index of the candidate
  const nodeAt = (at) => {
    const parent = alive[Math.floor(distribution.candidates[at] / size)].node;
    const token = distribution.candidates[at] % size;
    return forest.find(parent, token) ?? {parent, token, length: parent.length + 1};
  };
  const grow = (at) => nodes.get(at) ?? nodes.set(at, nodeAt(at)).get(at);
  residual.accepted.forEach(grow);
  const draw = (at, drawing) => {
    const node = grow(at);
    const probs = {target_prob: distribution.ranks ? 1 : distribution.probs[at], draft_prob: draft_probs[at]};
    const landed = forest.find(node.parent, node.token) !== null;
    const kind = residual.drawKind();
    const isGuessed = settings.forest === "coupled" && landed && kind === "fresh";
    draws.push({kind: isGuessed ? "guessed" : kind, node, landed, ...probs, ...drawing});
    residual.take(at);
  };
  if (settings.forest === "coupled") {
    for (const {at, noise} of coupledDraws(task, entry, width.width)) draw(at, {...UNDRAWN, noise});
  }
  while (residual.accepted.length < width.width) {
    const drawn = uniform();
    const {at, low, high} = drawFrom(residual.masses(), drawn);
    draw(at, {...residual.recorded, uniform: drawn, cdf_low: low, cdf_high: high, noise: null});
  }
  const beams = [...nodes].map(([at, node]) => ({
    node,
    log_weight: distribution.weights[at],
    multiplicity: residual.accepted.filter((one) => one === at).length,
  }));
  const living = beams.filter(({node}) => !eos.has(node.token));
  const known = draws.map(({node, landed}) => landed || eos.has(node.token));
  const outcome = living.length ? residual.ending(known, settings.landing) : "finished";
  const {kind} = residual;
  return {kind, alive, distribution, draft_probs, width, trials, accepted, draws, beams, living, outcome};
}

const UNDRAWN = {c: null, S: null, uniform: null, cdf_low: null, cdf_high: null};

/* The largest score + noise of each draw; without replacement all draws are the largest of one. */
function coupledDraws({settings: {replacement}, noise, size}, {alive, distribution}, width) {
  if (distribution.ranks) return distribution.ranks.slice(0, width).map((at) => ({at, noise: 0}));
  const values = distribution.candidates.map((candidate) =>
    noise.gumbel(alive[Math.floor(candidate / size)].node, candidate % size, replacement ? width : 1),
  );
  const perturbed = (draw) => values.map((own, at) => distribution.scores[at] + own[draw]);
  if (!replacement) return bestOf(perturbed(0), width).map((at) => ({at, noise: values[at][0]}));
  return Array.from({length: width}, (_, draw) => {
    const [at] = bestOf(perturbed(draw), 1);
    return {at, noise: values[at][draw]};
  });
}

/* A layer drawn from the target's distribution alone, of the largest width. */
function bonus(task, alive) {
  const entry = entered(task, alive, null);
  const {max_width, replacement} = task.settings;
  const width = replacement ? max_width : Math.min(max_width, entry.distribution.candidates.length);
  const numbers = {width, width_reason: "bonus", ...chainNumbers([], [])};
  return completed(task, entry, numbers, residualOver(task, entry, "bonus", width), []);
}
