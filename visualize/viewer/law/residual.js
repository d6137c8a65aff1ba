/* P′, the target's law as the trials of a layer change it: docs/algorithm.md, *The residual in closed form*. */

/* max(P − cQ, 0) / S at one pair. */
export const residualOf = (target, draft, c, S) => Math.max(target - c * draft, 0) / S;

/* The probability that a trial accepts: min(1, P′ / Q). */
export const acceptanceOf = (residual, draft) => Math.min(1, residual / draft);

/* S(c): the sum of max(P − cQ, 0) over all pairs. */
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
