/* The joint law of a layer, over (beam, token) pairs: docs/algorithm.md, *The joint law*. A pair is a number: the place
 * of its beam times the size of the vocabulary, plus the token. So the order of the numbers is that of the pairs. */

/* Raw log-probabilities of the next token. Throws where a logit is no number. */
export function logProbsOf(logits, role) {
  const found = Float64Array.from(logits);
  const most = largestOf(found);
  let mass = 0;
  for (let token = 0; token < found.length; token++) mass += Math.exp(found[token] - most);
  if (!Number.isFinite(mass)) throw new Error(`the ${role} model returns logits that are not numbers; load it again`);
  const total = Math.log(mass);
  for (let token = 0; token < found.length; token++) found[token] = found[token] - most - total;
  return found;
}

function largestOf(values) {
  let most = -Infinity;
  for (let at = 0; at < values.length; at++) if (values[at] > most) most = values[at];
  return most;
}

/* The places of the `count` largest values, best first, ties to the lowest place; minus infinity is left out. */
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

/* Temperature, then top-k, then top-p, each once and over all pairs: {pairs, scores, probs, weightAt, size, isRanked}.
 * Best pair first if a setting needs this order, else every pair, possible or not, in the order of the pairs.
 * rows: raw log-probabilities after each beam; beams: [{log_weight, multiplicity}].
 * Greedy without replacement the law is ranked: each pair is certain in its turn. */
export function warpedLaw(rows, beams, {temperature, top_k, top_p, replacement}, size) {
  const weightAt = (pair) => beams[Math.floor(pair / size)].log_weight + rows[Math.floor(pair / size)][pair % size];
  const scores = scoresOf(rows, beams, temperature, size);
  const isSorted = top_k > 0 || temperature === 0 || top_p < 1;
  const pairs = isSorted ? bestOf(scores, top_k || Infinity) : [...scores.keys()];
  const kept = pairs.map((pair) => scores[pair]);
  const probs = temperature > 0 ? nucleus(softmax(kept), top_p) : kept.map((_, rank) => Number(rank === 0));
  const isRanked = temperature === 0 && !replacement;
  return {pairs, scores: kept, probs, weightAt, size, isRanked};
}

/* The logarithm of the mass of each pair, up to a number that all share; at temperature 0 its log-weight. */
function scoresOf(rows, beams, temperature, size) {
  const scores = new Float64Array(rows.length * size);
  const most = Math.max(...rows.map((row, place) => beams[place].log_weight + largestOf(row)));
  for (const [place, row] of rows.entries()) {
    const {log_weight, multiplicity} = beams[place];
    const [start, count] = [place * size, Math.log(multiplicity)];
    for (let token = 0; token < size; token++) {
      const weight = log_weight + row[token];
      scores[start + token] = temperature > 0 ? (weight - most) / temperature + count : weight;
    }
  }
  return scores;
}

function softmax(scores) {
  const most = scores.reduce((best, score) => Math.max(best, score), -Infinity);
  if (most === -Infinity) return scores.map(() => 0);
  return normalised(scores.map((score) => Math.exp(score - most)));
}

function normalised(masses) {
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  return masses.map((mass) => mass / total);
}

/* The likeliest pairs up to the mass top_p, with the one that crosses it. */
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

/* The law from which a layer draws: the pairs that can be drawn, in their order. `ranks` has the order of a ranked law,
 * else it is null; `find` gives the index of a pair, undefined if it has none. */
export function jointLaw(rows, beams, settings, size) {
  const {pairs, probs, weightAt, isRanked} = warpedLaw(rows, beams, settings, size);
  const {temperature, top_p, replacement} = settings;
  const isKept = !replacement && top_p === 1 ? (at) => weightAt(pairs[at]) > -Infinity : (at) => probs[at] > 0;
  const order = [...pairs.keys()].filter((at) => isRanked || isKept(at)); // without replacement 0 may be the best left
  order.sort((one, other) => pairs[one] - pairs[other]);
  const ranks = isRanked ? [] : null;
  if (isRanked) order.forEach((rank, at) => (ranks[rank] = at));
  const place = new Map(order.map((at, index) => [pairs[at], index]));
  return {
    pairs: order.map((at) => pairs[at]),
    probs: order.map((at) => probs[at]),
    weights: order.map((at) => weightAt(pairs[at])),
    ranks,
    temperature,
    find: (beam, token) => place.get(beam * size + token),
  };
}

/* The probability of each pair, 0 at the removed ones, not normalised. */
export function massesOf({probs, ranks}, removed) {
  if (!ranks) return removed.size ? probs.map((prob, at) => (removed.has(at) ? 0 : prob)) : probs;
  const best = ranks.find((at) => !removed.has(at));
  return probs.map((_, at) => Number(at === best));
}

/* The probability of each pair relative to the best one that is left: nothing underflows before they are compared. */
export function massesOfRest({weights, temperature}, removed) {
  const left = weights.map((weight, at) => (removed.has(at) ? -Infinity : weight));
  const most = largestOf(left);
  return left.map((weight) => Math.exp((weight - most) / temperature));
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
