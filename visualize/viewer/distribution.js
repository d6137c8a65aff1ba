/* The distributions of a layer, its width and its trials, over candidates (beam, token). The lab of a lesson, the game
 * and the decoder in the browser decide with these functions, which need no page.
 *
 * A candidate is a number: the index of its beam times the size of the vocabulary, plus the token; so numbers are in
 * the order of their candidates. docs/algorithm.md, *The joint distribution*, *The dynamic width*, *One iteration*. */

/** @import {JointDistribution, Layer, LiveBeam, Numbers, Settings} from "./types" */

/* ---- the joint distribution ------------------------------------------------------------------------------------- */

/** Raw log-probabilities of the next token. @param {Numbers} logits @param {string} role names the model in an error */
export function logProbsOf(logits, role) {
  const values = Float64Array.from(logits);
  const most = largestOf(values);
  const mass = values.reduce((sum, logit) => sum + Math.exp(logit - most), 0);
  if (!Number.isFinite(mass)) throw new Error(`the ${role} model returns logits that are not numbers; load it again`);
  const total = Math.log(mass);
  return values.map((logit) => logit - most - total);
}

const largestOf = (values) => values.reduce((most, value) => Math.max(most, value), -Infinity);

/** The indices of the `count` largest values, best first, ties to the lowest index; minus infinity is left out.
 * @param {Numbers} values @returns {number[]} */
export function bestOf(values, count = Infinity) {
  const better = (one, other) => values[other] - values[one] || one - other;
  const kept = [];
  let bound = -Infinity;
  for (let at = 0; at < values.length; at++) {
    if (!(values[at] > bound)) continue;
    kept.push(at);
    if (kept.length < 2 * count) continue;
    kept.sort(better).length = count;
    bound = values[kept[count - 1]];
  }
  return kept.sort(better).slice(0, count);
}

/** Temperature, then top-k, then top-p, each once and over all candidates. Best candidate first if a setting needs this
 * order, else every candidate, possible or not, in order of their numbers. A greedy distribution without replacement is
 * ranked: each candidate is certain in its turn.
 * @param {Numbers[]} nextTokens the raw log-probabilities after each beam
 * @param {Omit<LiveBeam, "node">[]} beams @param {Settings} settings @param {number} size of the vocabulary */
export function warpedDistribution(nextTokens, beams, {temperature, top_k, top_p, replacement}, size) {
  const weightAt = (candidate) =>
    beams[Math.floor(candidate / size)].log_weight + nextTokens[Math.floor(candidate / size)][candidate % size];
  const scores = scoresOf(nextTokens, beams, temperature, size);
  const isSorted = top_k > 0 || temperature === 0 || top_p < 1;
  const candidates = isSorted ? bestOf(scores, top_k || Infinity) : [...scores.keys()];
  const kept = candidates.map((candidate) => scores[candidate]);
  const probs = temperature > 0 ? nucleus(softmax(kept), top_p) : kept.map((_, rank) => Number(rank === 0));
  const isRanked = temperature === 0 && !replacement;
  return {candidates, scores: kept, probs, weightAt, size, isRanked};
}

const COLDEST = 1e-300; // colder temperatures are this one: no score overflows

/* The logarithm of the mass of each candidate, up to a number that all share; at temperature 0 its log-weight. */
function scoresOf(nextTokens, beams, temperature, size) {
  const scores = new Float64Array(nextTokens.length * size);
  const most = Math.max(...nextTokens.map((log_probs, beam) => beams[beam].log_weight + largestOf(log_probs)));
  for (const [beam, log_probs] of nextTokens.entries()) {
    const {log_weight, multiplicity} = beams[beam];
    const [start, count] = [beam * size, Math.log(multiplicity)];
    for (let token = 0; token < size; token++) {
      const weight = log_weight + log_probs[token];
      scores[start + token] = temperature > 0 ? (weight - most) / Math.max(temperature, COLDEST) + count : weight;
    }
  }
  return scores;
}

function softmax(scores) {
  const most = largestOf(scores);
  if (most === -Infinity) return scores.map(() => 0);
  return normalised(scores.map((score) => Math.exp(score - most)));
}

function normalised(masses) {
  const total = sum(masses);
  return masses.map((mass) => mass / total);
}

/* The likeliest candidates up to the mass top_p, with the one that crosses it. */
function nucleus(probs, top_p) {
  if (top_p === 1) return probs;
  let before = 0;
  const kept = probs.map((prob) => {
    const isKept = before < top_p;
    before += prob;
    return isKept ? prob : 0;
  });
  return before > 0 ? normalised(kept) : kept;
}

/** The distribution from which a layer draws, with arguments as above: the candidates that can be drawn.
 * @returns {JointDistribution} */
export function jointDistribution(nextTokens, beams, settings, size) {
  const {candidates, probs, scores, weightAt, isRanked} = warpedDistribution(nextTokens, beams, settings, size);
  const {top_p, replacement} = settings;
  const isKept = !replacement && top_p === 1 ? (at) => weightAt(candidates[at]) > -Infinity : (at) => probs[at] > 0;
  const order = [...candidates.keys()].filter((at) => isRanked || isKept(at)); // 0 may be the best that is left
  order.sort((one, other) => candidates[one] - candidates[other]);
  const ranks = isRanked ? [] : null;
  if (isRanked) order.forEach((rank, at) => (ranks[rank] = at));
  const indices = new Map(order.map((at, index) => [candidates[at], index]));
  return {
    candidates: order.map((at) => candidates[at]),
    probs: order.map((at) => probs[at]),
    weights: order.map((at) => weightAt(candidates[at])),
    scores: order.map((at) => scores[at]),
    ranks,
    find: (beam, token) => indices.get(beam * size + token),
  };
}

/* The probability of each candidate, 0 at the removed ones, not normalised. */
function massesOf({probs, ranks}, removed) {
  if (!ranks) return removed.size ? probs.map((prob, at) => (removed.has(at) ? 0 : prob)) : probs;
  const best = ranks.find((at) => !removed.has(at));
  return probs.map((_, at) => Number(at === best));
}

/* The probability of each candidate relative to the best one that is left, so that nothing underflows before. */
function massesOfRest({scores}, removed) {
  const left = scores.map((score, at) => (removed.has(at) ? -Infinity : score));
  const most = largestOf(left);
  return left.map((score) => Math.exp(score - most));
}

/* The index whose interval of the cumulative sum holds the random number. */
export function drawFrom(masses, uniform) {
  const total = sum(masses);
  let reached = 0;
  for (let at = 0; ; at++) {
    const low = reached / total;
    reached += masses[at];
    if (uniform < reached / total) return {at, low, high: reached / total};
  }
}

/* The mean acceptance of a draft after 0, 1, ... rejections: 1 − S' / S; where S is 0 the distributions are equal. */
export const alphasOf = (chain) => chain.slice(1).map((S, at) => (chain[at] > 0 ? Math.max(1 - S / chain[at], 0) : 1));

/* P(exactly k accepted) for k = 0..m: the first acceptance, then the chain again with the drafts that are left. */
export function exactlyOf(alphas) {
  const drafts = alphas.length;
  const none = [1];
  for (const alpha of alphas) none.push(none[none.length - 1] * (1 - alpha));
  const first = alphas.map((alpha, at) => alpha * none[at]);
  let column = none; // column[m] = P(m, k)
  const exactly = [column[drafts]];
  for (let k = 1; k <= drafts; k++) {
    const before = column;
    column = none.map((_, m) =>
      first.slice(0, m).reduce((total, chance, at) => total + chance * before[m - at - 1], 0),
    );
    exactly.push(column[drafts]);
  }
  return exactly;
}

/* P(accepted >= k) for k = 1..m, from P(exactly k accepted) for k = 0..m. */
export function tailsOf(exactly) {
  const tailFrom = (k) => exactly.slice(k).reduceRight((tail, chance) => tail + chance, 0);
  return exactly.slice(1).map((_, at) => Math.min(1, tailFrom(at + 1)));
}

/* The largest K whose chance reaches the threshold, else 0. */
export const reached = (chances, threshold) => chances.findLastIndex((chance) => chance >= threshold) + 1;

/* The width of a layer whose threshold allows `count` beams: at least min_width, at most max_width, and without
 * replacement at most one beam per candidate of positive probability. */
export function bounded(count, support, settings) {
  const width = Math.min(Math.max(count, settings.min_width), settings.max_width);
  return settings.replacement ? width : Math.min(width, support);
}

/* Which bound decided this width. */
export function reasonOf(count, support, settings) {
  const {min_width: least, max_width: most} = settings;
  if (bounded(count, support, settings) < Math.min(Math.max(count, least), most)) return "support";
  if (Math.max(count, least) > most) return "max_width";
  return least > count ? "min_width" : "threshold";
}

export const sum = (numbers) => numbers.reduce((before, number) => before + number, 0);

/* P′, the target's distribution as the trials of a layer change it: max(P − cQ, 0) / S at one candidate.
 * docs/algorithm.md, *The residual in closed form*. */
export const residualOf = (target, draft, c, S) => Math.max(target - c * draft, 0) / S;

/* The probability that a trial accepts: min(1, P′ / Q). */
export const acceptanceOf = (residual, draft) => Math.min(1, residual / draft);

/* S(c): the sum of max(P − cQ, 0) over all candidates. */
const restOf = (targets, drafts, c) =>
  targets.reduce((sum, target, at) => sum + residualOf(target, drafts[at], c, 1), 0);

/* S after 0, 1, ... rejections in a row, one more than there are drafts. */
export function chainOf(targets, drafts, count) {
  const chain = [restOf(targets, drafts, 0)];
  for (let c = 0; chain.length <= count;) {
    c += chain[chain.length - 1];
    chain.push(restOf(targets, drafts, c));
  }
  return chain;
}

/** The verdict on a draft that is tried. @returns {"accepted" | "rejected"} */
export const verdictOf = (uniform, acceptance) => (uniform < acceptance ? "accepted" : "rejected");

const LEAST_LEFT = 1e-290; // where less of P is left after removals, P' is made from scores

/* The trials of one layer, in order: what is accepted so far, and c and S of the residual. docs/algorithm.md, *The
 * residual in closed form* and *Without replacement*. */
export class Residual {
  /** @type {number[]} */ accepted = [];
  tried = new Set();
  removed = new Set();

  /** @param {{kind: Layer["kind"], width: number, alive: any[]}} layer @param {JointDistribution} distribution P
   * @param {number[]} drafts Q at the candidates of P @param {boolean} replacement */
  constructor({kind, width, alive}, distribution, drafts, replacement) {
    this.kind = kind;
    this.width = width;
    this.alive = new Set(alive);
    this.distribution = distribution;
    this.drafts = distribution.ranks ? drafts.map(() => 0) : [...drafts];
    this.replacement = replacement;
    this.restart();
  }

  /* P' is P again. */
  restart() {
    this.c = 0;
    this.targets = massesOf(this.distribution, this.removed);
    this.S = restOf(this.targets, this.drafts, 0);
    this.unit = 1;
    if (this.S >= LEAST_LEFT || this.removed.size === this.targets.length) return;
    const left = this.S;
    this.targets = massesOfRest(this.distribution, this.removed);
    this.S = restOf(this.targets, this.drafts, 0);
    this.unit = left / this.S;
  }

  /* c and S in units of P, as they are recorded. */
  get recorded() {
    return {c: this.c * this.unit, S: this.S * this.unit};
  }

  /** The verdict on a draft that needs no trial, else null. @returns {"unneeded" | "orphaned" | null} */
  untried(parent) {
    if (this.accepted.length === this.width) return "unneeded";
    return this.alive.has(parent) ? null : "orphaned";
  }

  /* P' at a candidate; null is a candidate that P does not have. */
  left(at) {
    return at === null ? 0 : residualOf(this.targets[at], this.drafts[at], this.c, this.S);
  }

  /* The probability that the trial of a candidate accepts; draft: the probability it was drawn with. */
  chance(at, draft) {
    return acceptanceOf(this.left(at), draft);
  }

  /* Notes a verdict. False where a rejection leaves nothing of P. The draft came from Q times `gain`. */
  note(verdict, at, gain = 1) {
    if (verdict === "unneeded") return true;
    if (verdict !== "accepted") return this.reject(at, gain);
    this.take(at);
    return true;
  }

  /* False where nothing would be left of P; then nothing changes. */
  reject(at, gain) {
    const c = this.c + this.S * gain;
    const S = restOf(this.targets, this.drafts, c);
    if (S <= 0) return false;
    Object.assign(this, {c, S});
    if (at !== null) this.tried.add(at);
    return true;
  }

  /* Without replacement the candidate leaves P, and the candidates tried so far leave Q. */
  take(at) {
    if (!this.replacement) {
      this.removed.add(at);
      for (const one of this.tried.add(at)) this.drafts[one] = 0;
    }
    this.accepted.push(at);
    this.restart();
  }

  /* P' at all candidates, not normalised: the sum is S. */
  masses() {
    return this.targets.map((target, at) => residualOf(target, this.drafts[at], this.c, 1));
  }

  /** How the next missing beam is drawn. @returns {"recovered" | "bonus" | "fresh"} */
  drawKind() {
    if (this.c > 0) return "recovered";
    return this.kind === "bonus" ? "bonus" : "fresh";
  }

  /** What the layer led to. known: for each drawn beam, whether the forest has what follows it.
   * @param {boolean[]} known @param {boolean} landing @returns {Layer["outcome"]} */
  ending(known, landing) {
    if (this.kind === "bonus") return "bonus";
    if (!known.length) return "passed";
    return landing && known.every(Boolean) ? "landed" : "short";
  }
}
