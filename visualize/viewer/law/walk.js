/* Decides one layer again, trial by trial and draw by draw: docs/algorithm.md, *One iteration*. */

import {alphasOf, bounded, drawnWidth, isRuled, reached, tailsOf} from "./chances.js";
import {acceptanceOf, residualOf} from "./residual.js";
import {TIE, TOLERANCE, close} from "./tolerance.js";

export class Walk {
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
      !close(trial.acceptance, certain ? 1 : acceptanceOf(left, trial.draft_prob)) ||
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
    return residualOf(target, draft, this.c, this.S);
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
    const sound = close(later.c, c) && later.S > 0 && later.S <= this.S + TOLERANCE;
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
    const left = residualOf(draw.target_prob, draft, this.c, this.S);
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
