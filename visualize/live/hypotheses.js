/* Beams as outputs: which are kept, and which is best. dsbd/law/beams.py. */

/* The beams of largest log-weight, in their order; all where `count` is null. */
export function keepBest(beams, count) {
  if (count === null || beams.length <= count) return beams;
  const order = [...beams].sort((one, other) => other.log_weight - one.log_weight).slice(0, count);
  return beams.filter((beam) => order.includes(beam));
}

/* All hypotheses, best first: finished ones, then the beams that are alive. */
export function ranked({finished, beams}, {length_penalty}) {
  const scoredAs = (isFinished) => (beam) => {
    const score = beam.log_weight / Math.max(beam.node.length, 1) ** length_penalty;
    return {...beam, score, finished: isFinished};
  };
  const all = [...finished.map(scoredAs(true)), ...beams.map(scoredAs(false))];
  return all.sort((one, other) => other.score - one.score);
}

/* The tokens from the prompt to a node. */
export function idsOf(node) {
  const ids = [];
  for (let one = node; one.parent; one = one.parent) ids.push(one.token);
  return ids.reverse();
}
