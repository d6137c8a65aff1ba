/* Decides again, here in the browser, every verdict, width, draw and outcome from the recorded numbers.
 * dsbd/tracing/audit.py does the same and more, and a packed scene carries what it found.
 * The law: docs/algorithm.md, *One iteration*. */

import {alphasOf, bounded, drawnWidth, isRuled, reached, tailsOf} from "./chances.js";

const TOLERANCE = 1e-9; // between a recorded number and the one computed again
const TIE = 1e-12; // a probability this close to the threshold may fall on either side

const close = (recorded, expected) =>
  recorded !== null && Math.abs(recorded - expected) <= TOLERANCE * Math.max(1, Math.abs(expected));

/* {checks, failure}: failure names the first decision that does not follow, as {layer, what, place}, or is null. */
export function recheck(iteration, settings) {
  let checks = 0;
  const Kind = settings.lossless === false ? JointWalk : Walk;
  const block = settings.verification === "block" ? new Block(iteration) : null;
  for (const [layer, place, follows] of block ? block.decisions() : []) {
    checks++;
    if (!follows) return {checks, failure: {layer, what: "trial", place}};
  }
  for (const layer of iteration.layers) {
    const walk = new Kind(iteration, layer, settings, block);
    for (const [what, place, follows, number = layer.layer] of walk.decisions()) {
      checks++;
      if (!follows) return {checks, failure: {layer: number, what, place}};
    }
  }
  return {checks, failure: null};
}

/* What can be said of a whole trace: {checks, failure, told}. `failure` is the first failure in `reports`, which has
 * one report per iteration, with its place `it`. `told` is what the audit found when the scene was packed, where only
 * that audit found something. */
export function conclusion(reports, evidence) {
  const it = reports.findIndex((report) => report.failure);
  const checks = reports.reduce((sum, report) => sum + report.checks, 0);
  if (it >= 0) return {checks, failure: {it, ...reports[it].failure}, told: null};
  if (!evidence) return {checks, failure: null, told: null};
  return {checks: Math.max(checks, evidence.checks), failure: null, told: evidence.passed ? null : evidence.failure};
}

/* A chain under block verification: docs/algorithm.md, *Block verification*. */
class Block {
  constructor(iteration) {
    this.iteration = iteration;
    this.beginnings = iteration.beginnings;
    this.longest = this.beginnings.findLastIndex(({uniform, acceptance}) => uniform !== null && uniform < acceptance);
  }

  /* One decision per beginning, as [layer, place of its last draft, follows]; one more where the chain is not whole. */
  *decisions() {
    const chain = this.iteration.nodes.flatMap((node, at) => (node.kind === "drafted" ? [at] : []));
    for (const [at, one] of this.beginnings.entries()) {
      yield [at + 1, one.node, one.node === chain[at] && this.chance(at, one) && this.uniform(at, one)];
    }
    const last = this.beginnings[this.beginnings.length - 1];
    if (this.beginnings.length < chain.length) {
      yield [1, chain[0], last?.target_prob === 0];
    }
  }

  chance(at, {node, target_prob: target, probability, rest, acceptance}) {
    const {target_prob: known, draft_prob: draft} = this.iteration.nodes[node];
    if (known !== null && !close(target, known)) return false;
    const before = at ? this.beginnings[at - 1].probability : 1;
    if (!close(probability, draft > 0 ? Math.min(1, (before * target) / draft) : 0)) return false;
    if (at === this.beginnings.length - 1) return rest === null && close(acceptance, probability);
    if (rest === null || !this.bounded(at, probability, rest)) return false;
    return close(acceptance, rest > 0 ? rest / (rest + 1 - probability) : 0);
  }

  /* s lies between p P − Q of the next draft and what the chain of its layer leaves of it. */
  bounded(at, probability, rest) {
    const following = this.iteration.layer(at + 2);
    const known = following?.kind === "draft";
    const most = known ? probability * following.chain_S[1] : probability;
    const next = this.beginnings[at + 1];
    const least = probability * next.target_prob - (this.iteration.nodes[next.node].draft_prob ?? 0);
    if (known && probability === 1 && !close(rest, most)) return false;
    return rest >= -TOLERANCE && rest <= most + TOLERANCE && least <= rest + TOLERANCE;
  }

  /* The longest beginning that is accepted is the last one that is tested. */
  uniform(at, {uniform}) {
    return at < this.longest ? uniform === null : uniform !== null && uniform >= 0 && uniform < 1;
  }

  verdict({layer, residual_prob, c, S, acceptance, uniform}) {
    const bare = [residual_prob, c, S, acceptance, uniform].every((number) => number === null);
    return bare ? (layer <= this.longest + 1 ? "accepted" : "rejected") : null;
  }

  /* c and S of max(P − Q / p, 0) after the accepted beginning. */
  residual() {
    const [p, s] =
      this.longest < 0
        ? [1, this.iteration.layers[0].chain_S[1]]
        : [this.beginnings[this.longest].probability, this.beginnings[this.longest].rest];
    return s > 0 ? [1 / p, s / p] : [0, 1];
  }
}

class Walk {
  constructor(iteration, layer, settings, block) {
    Object.assign(this, {
      iteration,
      layer,
      settings,
      block,
      c: 0,
      S: 1,
      rejections: 0,
      accepted: [],
      drafted: 0,
      taken: 0,
      spent: new Set(),
    });
    this.ranks = settings.temperature === 0 && !settings.replacement; // greedy without replacement: ranks, not laws
    this.trials = iteration.trials.filter((trial) => trial.layer === layer.layer);
    this.draws = iteration.draws.filter((draw) => draw.layer === layer.layer);
    this.alive = new Set(layer.alive);
  }

  *decisions() {
    yield ["width", -1, this.width()];
    for (const trial of this.trials) yield ["trial", trial.node, this.trial(trial)];
    yield [
      "outcome",
      -1,
      this.accepted.length === this.layer.accepted && this.draws.length === this.layer.width - this.accepted.length,
    ];
    for (const draw of this.draws) yield ["draw", draw.node, this.draw(draw)];
    yield ["outcome", -1, this.outcome() === this.layer.outcome];
  }

  width() {
    const {layer, settings} = this;
    const {support, width} = layer;
    if (settings.width_weights) return this.drawnWidth();
    if (!isRuled(layer, settings)) {
      return width === (settings.replacement ? settings.max_width : Math.min(settings.max_width, support));
    }
    if (layer.forest_mass === null && !this.chain()) return false;
    const threshold = settings.width_threshold;
    return [threshold, threshold - TIE, threshold + TIE].some(
      (value) => width === bounded(reached(layer.at_least, value), support, settings),
    );
  }

  /* The width whose interval holds the random number; without replacement at most one beam for each pair. */
  drawnWidth() {
    const {layer, settings} = this;
    const u = layer.width_uniform;
    if (layer.kind !== "bonus" || u === null || u < 0 || u >= 1) return false;
    for (let asked = settings.min_width; asked <= settings.max_width; asked++) {
      const [low, high] = drawnWidth(asked, settings);
      const width = settings.replacement ? asked : Math.min(asked, layer.support);
      if (low - TIE <= u && u < high + TIE && high > low && layer.width === width) return true;
    }
    return false;
  }

  /* P(accepted >= k) from S of the chain. */
  chain() {
    const {chain_S, at_least} = this.layer;
    const drafts = at_least.length;
    if (this.layer.kind === "draft" && this.trials.length !== drafts) return false;
    if (chain_S.length !== drafts + 1 || !close(chain_S[0], 1)) return false;
    const tails = tailsOf(alphasOf(chain_S));
    return tails.every((tail, at) => close(at_least[at], Math.min(tail, 1)));
  }

  trial(trial) {
    const {settings, ranks} = this;
    const node = this.iteration.nodes[trial.node];
    if (trial.joint || node.kind !== "drafted" || node.column !== this.layer.layer || node.draft_prob === null) {
      return false;
    }
    const rest = settings.replacement || ranks ? 1 : 1 - this.drafted;
    this.drafted += node.draft_prob;
    if (!close(trial.draft_prob * rest, ranks ? 1 : node.draft_prob)) return false;
    const verdict = this.block ? this.block.verdict(trial) : this.verdict(trial, node);
    if (verdict === "accepted") this.accept(trial, node);
    else if (this.block) [this.c, this.S] = this.block.residual();
    else if (verdict === "rejected" || verdict === "orphaned") {
      if (!this.reject(trial, ranks || node.draft_prob <= 0 ? 1 : trial.draft_prob / node.draft_prob)) return false;
    }
    return verdict === trial.verdict;
  }

  verdict(trial, node) {
    if (this.accepted.length === this.layer.width) return "unneeded";
    if (!this.adopt(trial)) return null;
    if (!this.alive.has(node.parent)) return this.settings.branching ? null : "orphaned";
    const left = this.ranks ? Number((trial.residual_prob ?? 0) > 0) : this.residual(trial.node, node);
    if (!close(trial.residual_prob, left) || trial.acceptance === null || trial.uniform === null) return null;
    const certain = trial.acceptance === 1 && left / trial.draft_prob > 1 - TOLERANCE;
    if (
      !close(trial.acceptance, certain ? 1 : Math.min(1, left / trial.draft_prob)) ||
      trial.uniform < 0 ||
      trial.uniform >= 1
    ) {
      return null;
    }
    return trial.uniform < trial.acceptance ? "accepted" : "rejected";
  }

  /* max(P − cQ, 0) / S; a pair that is spent takes no part in Q, one that was taken has nothing left. */
  residual(place, node) {
    const {replacement} = this.settings;
    const target = !replacement && this.accepted.includes(place) ? 0 : (node.target_prob ?? 0);
    const draft = !replacement && this.spent.has(place) ? 0 : node.draft_prob;
    return Math.max(target - this.c * draft, 0) / this.S;
  }

  /* The recorded c and S, once they agree: a small S has digits that a difference has lost. */
  adopt({c, S}) {
    if (!close(c, this.c) || !close(S, this.S)) return false;
    this.c = c;
    this.S = S;
    return true;
  }

  accept(trial, node) {
    this.accepted.push(trial.node);
    this.taken += node.target_prob ?? 0;
    this.spent = new Set(this.trials.filter((other) => other.order <= trial.order).map((other) => other.node));
    this.rejections = this.c = 0;
    this.S = this.settings.replacement || this.ranks ? 1 : 1 - this.taken;
  }

  reject(trial, gain) {
    const c = this.c + this.S * gain;
    const later = [...this.trials.filter((other) => other.order > trial.order), ...this.draws].find(
      (item) => item.c !== null,
    );
    if (this.settings.replacement) {
      const S = this.layer.chain_S[++this.rejections] ?? 0;
      if (S > 0) {
        this.c = c;
        this.S = S;
      }
      return true;
    }
    if (!later) return true;
    const sound = this.ranks || (close(later.c, c) && later.S > 0 && later.S <= this.S + TOLERANCE);
    this.c = later.c;
    this.S = later.S;
    return sound;
  }

  draw(draw) {
    const node = this.iteration.nodes[draw.node];
    const {replacement} = this.settings;
    if (draw.kind !== (this.c > 0 ? "recovered" : this.layer.kind === "bonus" ? "bonus" : "fresh")) return false;
    if (draw.landed !== (node.kind !== "drawn") || !this.alive.has(node.parent) || !this.adopt(draw)) return false;
    const draft = !replacement && this.spent.has(draw.node) ? 0 : draw.draft_prob;
    const left = Math.max(draw.target_prob - this.c * draft, 0) / this.S;
    if (!this.ranks && !close(draw.cdf_high - draw.cdf_low, left)) return false;
    this.taken += draw.target_prob;
    this.c = 0;
    this.S = replacement || this.ranks ? 1 : 1 - this.taken;
    return draw.cdf_low <= draw.uniform && draw.uniform < draw.cdf_high;
  }

  outcome() {
    const {nodes} = this.iteration;
    const yielded = [...this.accepted, ...this.draws.map((draw) => draw.node)];
    if (yielded.every((place) => nodes[place].ends)) return "finished";
    if (this.layer.kind === "bonus") return "bonus";
    if (!this.draws.length) return "passed";
    return this.settings.landing && this.draws.every((draw) => draw.landed || nodes[draw.node].ends)
      ? "landed"
      : "short";
  }
}

/* A layer after a joint test; with the first layer come the trials of the whole beam (dsbd/tracing/joint_audit.py). */
class JointWalk extends Walk {
  *decisions() {
    const {layer, iteration, draws} = this;
    const {trials} = iteration;
    const passed = trials.map((trial) => this.passes(trial)).lastIndexOf(true) + 1;
    const isSearch = this.settings.method === "mjgd" && trials.length > 0;
    const ends = passed > 0 && passed === trials.length && iteration.nodes[trials[passed - 1].node].ends;
    const count = passed + Number(!ends && !isSearch);
    this.isBlockEnd = isSearch && layer.layer === passed;
    if (layer.layer === 1) {
      const sums = this.draftSums();
      for (const [at, trial] of trials.entries()) {
        yield ["trial", trial.node, this.joint(trial, at, passed, sums), at + 1];
      }
    }
    this.accepted = this.trials.filter((trial) => trial.verdict !== "rejected").map((trial) => trial.node);
    const drafted = layer.kind === "draft";
    yield ["width", -1, layer.width === 1 && drafted === this.trials.length > 0];
    const isTaken = Number(layer.layer <= passed);
    const counted = layer.accepted === isTaken && draws.length === 1 - isTaken;
    yield ["outcome", -1, counted && (layer.layer < iteration.layers.length || layer.layer === count)];
    for (const draw of draws) yield ["draw", draw.node, this.draw(draw)];
    yield ["outcome", -1, this.outcome() === layer.outcome];
  }

  passes({joint, acceptance}) {
    return (
      joint !== null && joint.target !== null && acceptance !== null && acceptance >= this.settings.joint_threshold
    );
  }

  /* Every drafted node's sum under the draft model. */
  draftSums() {
    const sums = new Map();
    this.iteration.nodes.forEach((node, place) => {
      if (node.kind === "input") sums.set(place, 0);
      if (node.kind === "drafted") sums.set(place, sums.get(node.parent) + (node.draft_log_prob ?? -Infinity));
    });
    return sums;
  }

  /* One token of the beam: its place, its sums, its verdict; with the last one that no other beam is likelier. */
  joint(trial, at, passed, sums) {
    const {nodes, trials} = this.iteration;
    const {joint} = trial;
    const node = nodes[trial.node];
    const parent = at ? trials[at - 1].node : 0;
    if (!joint || node.kind !== "drafted" || node.parent !== parent || trial.layer !== at + 1) return false;
    if ([trial.residual_prob, trial.c, trial.S, trial.uniform].some((value) => value !== null)) return false;
    if (trial.order !== 0 || !close(trial.draft_prob, node.draft_prob)) return false;
    if (at === trials.length - 1 && !this.isBest(trial.node, sums)) return false;
    const target = trials
      .slice(0, at + 1)
      .reduce((sum, one) => sum + (nodes[one.node].target_log_prob ?? -Infinity), 0);
    if (target === -Infinity ? joint.target !== null : !close(joint.target, target)) return false;
    if (!close(joint.draft, sums.get(trial.node)) || !close(joint.threshold, this.settings.joint_threshold)) {
      return false;
    }
    const ratio = joint.target === null ? 0 : Math.exp(Math.min(joint.target - joint.draft, 0));
    if (!close(trial.acceptance, ratio)) return false;
    return trial.verdict === (at >= passed ? "rejected" : this.passes(trial) ? "accepted" : "carried");
  }

  isBest(place, sums) {
    const {nodes} = this.iteration;
    const depth = Math.max(...nodes.map((node) => (node.kind === "drafted" ? node.column : 0)));
    const ends = nodes.flatMap((node, at) =>
      node.kind === "drafted" && (node.ends || node.column === depth) ? [at] : [],
    );
    return ends.includes(place) && close(sums.get(place), Math.max(...ends.map((end) => sums.get(end))));
  }

  outcome() {
    const found = super.outcome();
    return this.isBlockEnd && found === "passed" ? "block" : found;
  }
}
