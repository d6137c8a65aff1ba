/* The exact law of the ends of beam sampling, by enumeration, and the formulas for the first layer. */

import {alphasOf, tailsOf} from "../../viewer/law/chances.js";
import {chainOf} from "../../viewer/law/trials.js";
import {START, beamsAt, endOf, jointLaw} from "./beams.js";

/* Every end with its probability. */
export function exactLaw(table, layers, width) {
  let law = new Map([["", {beams: START, prob: 1}]]);
  for (let layer = 0; layer < layers; layer++) {
    const after = new Map();
    for (const {beams, prob} of law.values()) {
      const joint = jointLaw(beams, table);
      for (const [chance, indices] of tuples(joint.probs, width)) {
        const below = beamsAt(joint, indices);
        const end = endOf(below);
        if (!after.has(end)) after.set(end, {beams: below, prob: 0});
        after.get(end).prob += prob * chance;
      }
    }
    law = after;
  }
  return new Map([...law].map(([end, {prob}]) => [end, prob]));
}

function* tuples(probs, width, chance = 1, indices = []) {
  if (indices.length === width) yield [chance, indices];
  else for (const [at, prob] of probs.entries()) yield* tuples(probs, width, chance * prob, [...indices, at]);
}

/* Of the first layer: the probability that its first guess is accepted, and that guesses alone fill the width. */
export function firstLayer(pair, {guesses, width}) {
  const alphas = alphasOf(chainOf(pair.target[""], pair.draft[""], guesses));
  return {first: alphas[0], filled: tailsOf(alphas)[width - 1] ?? 0};
}
