/* Decides one layer again, trial by trial and draw by draw: docs/algorithm.md, *One iteration*. */

import {alphasOf, bounded, drawnWidth, isRuled, reached, tailsOf} from "./chances.js";
import {TIE, TOLERANCE, Trials, acceptanceOf, close, verdictOf} from "./trials.js";

export class Walk extends Trials {
  constructor(iteration, layer, settings, block) {
    super(layer);
    Object.assign(this, {iteration, layer, settings, block, drafted: 0, taken: 0, spent: new Set()});
    this.ranks = settings.temperature === 0 && !settings.replacement; // greedy without replacement: ranks, not laws
    this.trials = iteration.trials.filter((trial) => trial.layer === layer.layer);
    this.draws = iteration.draws.filter((draw) => draw.layer === layer.layer);
  }

  *decisions() {
    const {layer, draws} = this;
    yield ["width", -1, this.isWidth()];
    for (const trial of this.trials) yield ["trial", trial.node, this.trial(trial)];
    const accepted = this.accepted.length;
    yield ["outcome", -1, accepted === layer.accepted && draws.length === layer.width - accepted];
    for (const draw of draws) yield ["draw", draw.node, this.draw(draw)];
    yield ["outcome", -1, this.outcome() === layer.outcome];
  }

  isWidth() {
    const {layer, settings} = this;
    const {support, width} = layer;
    if (settings.width_weights) return this.isDrawnWidth();
    if (!isRuled(layer, settings)) {
      return width === (settings.replacement ? settings.max_width : Math.min(settings.max_width, support));
    }
    if (layer.forest_mass === null && !this.isChain()) return false;
    const threshold = settings.width_threshold;
    return [threshold, threshold - TIE, threshold + TIE].some(
      (value) => width === bounded(reached(layer.at_least, value), support, settings),
    );
  }

  /* Whether the random number lies in the interval of the width. Without replacement a pair gives one beam at most. */
  isDrawnWidth() {
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

  /* Whether P(accepted >= k) follows from the chain of S. */
  isChain() {
    const {kind, chain_S, at_least} = this.layer;
    const drafts = at_least.length;
    if (kind === "draft" && this.trials.length !== drafts) return false;
    if (chain_S.length !== drafts + 1 || !close(chain_S[0], 1)) return false;
    return tailsOf(alphasOf(chain_S)).every((tail, at) => close(at_least[at], tail));
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
    if (verdict === "accepted") {
      this.taken += node.target_prob ?? 0;
      this.spent = new Set(this.trials.filter((other) => other.order <= trial.order).map((other) => other.node));
    }
    if (this.block && verdict !== "accepted") [this.c, this.S] = this.block.residual();
    else if (settings.replacement || verdict === "accepted") this.note(verdict, trial.node);
    else if (verdict !== "unneeded" && !this.isAdopted(trial, node)) return false;
    return verdict === trial.verdict;
  }

  verdict(trial, node) {
    const untried = this.untried(node.parent);
    if (untried === "unneeded") return untried;
    if (!this.adopt(trial)) return null;
    if (untried) return this.settings.branching ? null : untried;
    const {uniform, acceptance, draft_prob} = trial;
    const left = this.ranks ? Number((trial.residual_prob ?? 0) > 0) : this.left(trial.node, node);
    if (!close(trial.residual_prob, left) || acceptance === null || uniform === null) return null;
    const isCertain = acceptance === 1 && left / draft_prob > 1 - TOLERANCE;
    if (!close(acceptance, isCertain ? 1 : acceptanceOf(left, draft_prob)) || uniform < 0 || uniform >= 1) return null;
    return verdictOf(uniform, acceptance);
  }

  /* P' at a node. Without replacement, Q is 0 at a pair that was tried, and P is 0 at a pair that was accepted. */
  left(place, node) {
    const {replacement} = this.settings;
    const target = !replacement && this.accepted.includes(place) ? 0 : (node.target_prob ?? 0);
    const draft = !replacement && this.spent.has(place) ? 0 : node.draft_prob;
    return this.residual(target, draft);
  }

  restart() {
    super.restart();
    if (!this.settings.replacement) this.S = this.ranks ? 1 : 1 - this.taken;
  }

  /* Takes the recorded c and S, if they agree: a small S has digits that a difference has lost. */
  adopt({c, S}) {
    if (!close(c, this.c) || !close(S, this.S)) return false;
    this.c = c;
    this.S = S;
    return true;
  }

  /* Without replacement: takes c and S of the next record, if they may follow from a rejection. */
  isAdopted(trial, node) {
    const gain = this.ranks || node.draft_prob <= 0 ? 1 : trial.draft_prob / node.draft_prob;
    const c = this.c + this.S * gain;
    const later = [...this.trials.filter((other) => other.order > trial.order), ...this.draws].find(
      (item) => item.c !== null,
    );
    if (!later) return true;
    const isSound = close(later.c, c) && later.S > 0 && later.S <= this.S + TOLERANCE;
    this.c = later.c;
    this.S = later.S;
    return isSound;
  }

  draw(draw) {
    const node = this.iteration.nodes[draw.node];
    if (draw.kind !== this.drawKind() || draw.landed !== (node.kind !== "drawn")) return false;
    if (!this.alive.has(node.parent) || !this.adopt(draw)) return false;
    const draft = !this.settings.replacement && this.spent.has(draw.node) ? 0 : draw.draft_prob;
    if (!this.ranks && !close(draw.cdf_high - draw.cdf_low, this.residual(draw.target_prob, draft))) return false;
    this.taken += draw.target_prob;
    this.restart();
    return draw.cdf_low <= draw.uniform && draw.uniform < draw.cdf_high;
  }

  outcome() {
    const {nodes} = this.iteration;
    const yielded = [...this.accepted, ...this.draws.map((draw) => draw.node)];
    if (yielded.every((place) => nodes[place].ends)) return "finished";
    const known = this.draws.map((draw) => draw.landed || nodes[draw.node].ends);
    return this.ending(known, this.settings.landing);
  }
}
