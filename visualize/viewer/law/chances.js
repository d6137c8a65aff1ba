/* From the residual chain of a layer to P(accepted >= k); docs/algorithm.md, *The dynamic width*. */

/* The mean acceptance of a draft after 0, 1, ... rejections: 1 − S' / S; where S is 0 the laws are equal. */
export const alphasOf = (chain) => chain.slice(1).map((S, at) => (chain[at] > 0 ? Math.max(1 - S / chain[at], 0) : 1));

/* P(accepted >= k) for k = 1..m: the first acceptance, then the chain anew with the drafts that are left. */
export function tailsOf(alphas) {
  const drafts = alphas.length;
  const none = [1];
  for (const alpha of alphas) none.push(none[none.length - 1] * (1 - alpha));
  const first = alphas.map((alpha, at) => alpha * none[at]);
  let column = none; // column[m] = P(m, k)
  const exactly = [column[drafts]];
  for (let k = 1; k <= drafts; k++) {
    const before = column;
    column = none.map((_, m) => first.slice(0, m).reduce((sum, chance, at) => sum + chance * before[m - at - 1], 0));
    exactly.push(column[drafts]);
  }
  return alphas.map((_, at) =>
    Math.min(
      1,
      exactly.slice(at + 1).reduce((sum, chance) => sum + chance, 0),
    ),
  );
}
