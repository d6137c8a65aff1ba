/* The exact law of the ends of beam sampling, by enumeration, and the formulas for the first layer. */

import {alphasOf, chainOf, jointLaw, logProbsOf, massesOf, tailsOf, warpedLaw} from "../../viewer/law.js";
import {endOf, logitsOf, settingsOf} from "./beams.js";

const ROOT = {path: "", log_weight: 0, multiplicity: 1};

/* Every end with its probability. widths: one for each layer; settings: those of a decode; a path that has drawn a word
 * of `eos` is finished. */
export function exactLaw(table, widths, settings = settingsOf({}), eos = new Set()) {
  const size = table[""].length;
  let law = new Map([["", {beams: [ROOT], prob: 1}]]);
  const isOver = ({path}) => eos.has(Number(path[path.length - 1] ?? -1));
  for (const width of widths) {
    const after = new Map();
    for (const {beams, prob} of law.values()) {
      const alive = beams.filter((beam) => !isOver(beam));
      const over = beams.filter(isOver);
      const rows = alive.map(({path}) => logProbsOf(logitsOf(table, path), "target"));
      const joint = jointLaw(rows, alive, settings, size);
      const pathOf = (at) => alive[Math.floor(joint.pairs[at] / size)].path + (joint.pairs[at] % size);
      for (const [chance, drawn] of drawings(joint, alive.length ? width : 0, settings.replacement)) {
        const below = [...new Set(drawn)].map((at) => ({
          path: pathOf(at),
          log_weight: joint.weights[at],
          multiplicity: drawn.filter((one) => one === at).length,
        }));
        const end = endOf([...over, ...below]);
        if (!after.has(end)) after.set(end, {beams: [...over, ...below], prob: 0});
        after.get(end).prob += prob * chance;
      }
    }
    law = after;
  }
  return new Map([...law].map(([end, {prob}]) => [end, prob]));
}

/* All ways to draw so many pairs, one after the other, with their probabilities. */
function* drawings(law, width, replacement, chance = 1, drawn = []) {
  const masses = massesOf(law, new Set(replacement ? [] : drawn));
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  if (drawn.length === width || total === 0) yield [chance, drawn];
  else {
    for (const [at, mass] of masses.entries()) {
      if (mass > 0) yield* drawings(law, width, replacement, (chance * mass) / total, [...drawn, at]);
    }
  }
}

/* Of the first layer: the probability that its first guess is accepted, and that guesses alone fill the width. */
export function firstLayer(pair, settings) {
  const {guesses, width} = settings;
  const lawOf = (table) =>
    warpedLaw([logProbsOf(logitsOf(table, ""), "target")], [ROOT], settingsOf(settings), table[""].length).probs;
  const alphas = alphasOf(chainOf(lawOf(pair.target), lawOf(pair.draft), guesses));
  return {first: alphas[0], filled: tailsOf(alphas)[width - 1] ?? 0};
}
