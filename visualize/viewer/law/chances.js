/* P(accepted >= k) of a layer, and the width that follows from it: docs/algorithm.md, *The dynamic width*. */

/* The mean acceptance of a draft after 0, 1, ... rejections: 1 − S' / S; where S is 0 the laws are equal. */
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

/* P(accepted >= k) for k = 1..m. */
export function tailsOf(alphas) {
  let tail = 0;
  const sums = exactlyOf(alphas).map((_, at, exactly) => (tail += exactly[exactly.length - 1 - at]));
  return sums
    .slice(0, -1)
    .reverse()
    .map((chance) => Math.min(1, chance));
}

/* P(accepted >= count) of a layer, in a likely forest P(count draws all land). 1 below one draft, 0 beyond the last. */
export function atLeast(layer, count) {
  if (count < 1) return 1;
  return count > layer.at_least.length ? 0 : layer.at_least[count - 1];
}

/* The largest K whose chance reaches the threshold, else 0. */
export function reached(chances, threshold) {
  let count = 0;
  chances.forEach((chance, at) => {
    if (chance >= threshold) count = at + 1;
  });
  return count;
}

/* The width of a layer whose threshold allows `count` beams: at least min_width, at most max_width, and without
 * replacement at most one beam per pair of positive probability. */
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

/* The chance that `count` draws all land in a likely forest, for 1 to `most` draws. held: the indices of its nodes in
 * P. Greedy without replacement it is certain whether they do. docs/algorithm.md, *Likely forests*. */
export function landingChances({probs, ranks}, held, most) {
  if (!ranks) {
    const mass = Math.min(sum(held.map((at) => probs[at])), 1);
    return Array.from({length: most}, (_, at) => mass ** (at + 1));
  }
  const best = ranks.slice(0, most);
  return best.map((_, at) => Number(best.slice(0, at + 1).every((one) => held.includes(one))));
}

/* Whether the rule chose the width of this layer; in width rule sampling it does so without drafts. */
export const isRuled = (layer, settings) => layer.kind === "draft" || settings.method === "width_rule_sampling";

/* In random_width: the interval of random numbers that gives this width. */
export function drawnWidth(width, settings) {
  const weights = settings.width_weights;
  const total = sum(weights);
  const place = width - settings.min_width;
  return [sum(weights.slice(0, Math.max(place, 0))) / total, sum(weights.slice(0, Math.max(place + 1, 0))) / total];
}

const sum = (numbers) => numbers.reduce((before, number) => before + number, 0);
