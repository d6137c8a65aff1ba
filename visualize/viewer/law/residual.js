/* The trials of a layer with both laws at hand: docs/algorithm.md, *The residual in closed form* and *Without
 * replacement*. */

import {massesOf, massesOfRest} from "./joint.js";
import {Trials, acceptanceOf, residualOf, restOf} from "./trials.js";

const LEAST_LEFT = 1e-290; // where less of P is left after removals, P' is made from log-weights

export class Residual extends Trials {
  /* layer: {kind, width, alive}; law: P; drafts: Q at the pairs of P. */
  constructor(layer, law, drafts, replacement) {
    super({...layer, chain_S: []});
    Object.assign(this, {law, replacement, tried: new Set(), removed: new Set()});
    this.drafts = law.ranks ? drafts.map(() => 0) : [...drafts];
    this.restart();
  }

  restart() {
    this.c = 0;
    this.targets = massesOf(this.law, this.removed);
    this.S = restOf(this.targets, this.drafts, 0);
    this.unit = 1;
    if (this.S >= LEAST_LEFT || this.removed.size === this.targets.length) return;
    const left = this.S;
    this.targets = massesOfRest(this.law, this.removed);
    this.S = restOf(this.targets, this.drafts, 0);
    this.unit = left / this.S;
  }

  /* c and S in units of P, as they are recorded. */
  get recorded() {
    return {c: this.c * this.unit, S: this.S * this.unit};
  }

  /* P' at a pair; null is a pair that P does not have. */
  left(at) {
    return at === null ? 0 : this.residual(this.targets[at], this.drafts[at]);
  }

  /* The probability that the trial of a pair accepts; draft: the probability it was drawn with. */
  chance(at, draft) {
    return acceptanceOf(this.left(at), draft);
  }

  /* False where nothing would be left of P; then nothing changes. The draft came from Q times `gain`. */
  reject(at, gain) {
    const c = this.c + this.S * gain;
    const S = restOf(this.targets, this.drafts, c);
    if (S <= 0) return false;
    Object.assign(this, {c, S});
    if (at !== null) this.tried.add(at);
    return true;
  }

  /* Without replacement the pair leaves P, and the pairs tried so far leave Q. */
  take(at) {
    if (!this.replacement) {
      this.removed.add(at);
      for (const one of this.tried.add(at)) this.drafts[one] = 0;
    }
    super.take(at);
  }

  /* P' at all pairs, not normalised: the sum is S. */
  masses() {
    return this.targets.map((target, at) => residualOf(target, this.drafts[at], this.c, 1));
  }
}
