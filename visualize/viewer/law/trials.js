/* The rule of acceptance, written once: docs/algorithm.md, *One iteration*. The re-check, what-if and the lab of a
 * lesson decide their trials with it. */

/* P′, the target's law as the trials of a layer change it: max(P − cQ, 0) / S at one pair.
 * docs/algorithm.md, *The residual in closed form*. */
export const residualOf = (target, draft, c, S) => Math.max(target - c * draft, 0) / S;

/* The probability that a trial accepts: min(1, P′ / Q). */
export const acceptanceOf = (residual, draft) => Math.min(1, residual / draft);

/* S(c): the sum of max(P − cQ, 0) over all pairs. */
export const restOf = (targets, drafts, c) =>
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

/* The verdict on a draft that is tried. */
export const verdictOf = (uniform, acceptance) => (uniform < acceptance ? "accepted" : "rejected");

/* The trials of one layer, in order: what is accepted so far, and c and S of the residual.
 * chain_S: S after 0, 1, ... rejections in a row. */
export class Trials {
  constructor({kind, width, alive, chain_S}) {
    Object.assign(this, {kind, width, chain_S, alive: new Set(alive), accepted: []});
    Object.assign(this, {c: 0, S: chain_S[0] ?? 1, rejections: 0});
  }

  /* P' is P again. */
  restart() {
    this.c = this.rejections = 0;
    this.S = this.chain_S[0] ?? 1;
  }

  /* The verdict on a draft that needs no trial, else null. */
  untried(parent) {
    if (this.accepted.length === this.width) return "unneeded";
    return this.alive.has(parent) ? null : "orphaned";
  }

  residual(target, draft) {
    return residualOf(target, draft, this.c, this.S);
  }

  acceptance(target, draft) {
    return acceptanceOf(this.residual(target, draft), draft);
  }

  /* Notes a verdict. False where a rejection leaves nothing of P. The draft came from Q times `gain`. */
  note(verdict, node, gain = 1) {
    if (verdict === "unneeded") return true;
    if (verdict !== "accepted") return this.reject(node, gain);
    this.take(node);
    return true;
  }

  take(node) {
    this.accepted.push(node);
    this.restart();
  }

  reject() {
    const S = this.chain_S[this.rejections + 1] ?? 0;
    if (S <= 0) return false;
    this.c += this.S;
    this.S = S;
    this.rejections++;
    return true;
  }

  /* How the next missing beam is drawn. */
  drawKind() {
    if (this.c > 0) return "recovered";
    return this.kind === "bonus" ? "bonus" : "fresh";
  }

  /* What the layer led to. known: for each drawn beam, whether the forest knows what follows it. */
  ending(known, landing) {
    if (this.kind === "bonus") return "bonus";
    if (!known.length) return "passed";
    return landing && known.every(Boolean) ? "landed" : "short";
  }
}

/* How close a recorded number must be to the one that is computed again. */
export const TOLERANCE = 1e-9;
export const TIE = 1e-12; // a probability this close to the threshold may fall on either side

export const close = (recorded, expected) =>
  Number.isFinite(recorded) &&
  Number.isFinite(expected) &&
  Math.abs(recorded - expected) <= TOLERANCE * Math.max(1, Math.abs(expected));
