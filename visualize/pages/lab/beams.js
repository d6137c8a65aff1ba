/* Beams of words and the joint law below them, with tables in place of models: docs/algorithm.md, *The joint law*.
 * A path is a string with one digit for each word; a table has the law of the next word for every path. */

export const START = [{path: "", weight: 1, count: 1}];

/* Every pair of positive probability, by beam and then by word. */
export function jointLaw(beams, table) {
  const law = {paths: [], probs: [], weights: []};
  for (const {path, weight, count} of beams) {
    table[path].forEach((prob, word) => {
      if (prob <= 0) return;
      law.paths.push(path + word);
      law.weights.push(weight * prob);
      law.probs.push(count * weight * prob);
    });
  }
  const total = law.probs.reduce((sum, mass) => sum + mass, 0);
  law.probs = law.probs.map((mass) => mass / total);
  return law;
}

/* The index whose interval of the cumulative sum holds the random number. */
export function drawFrom(masses, uniform) {
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  let reached = 0;
  for (let at = 0; ; at++) {
    const low = reached / total;
    reached += masses[at];
    if (uniform < reached / total) return {at, low, high: reached / total};
  }
}

/* The pairs at these indices of a law as beams; equal ones become one beam with a count. */
export function beamsAt(law, indices) {
  const beams = new Map();
  for (const at of indices) {
    if (!beams.has(at)) beams.set(at, {path: law.paths[at], weight: law.weights[at], count: 0});
    beams.get(at).count++;
  }
  return [...beams.values()];
}

/* The end of a decode as a text: every beam as often as it counts, in a fixed order. */
export const endOf = (beams) =>
  beams
    .flatMap(({path, count}) => Array(count).fill(path))
    .sort()
    .join("+");
