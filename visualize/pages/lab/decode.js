/* Decodes with tables by the decoder of the live page, or by one whose rule is broken. */

import {idsOf, iterations} from "../../live/decode.js";
import {RULES} from "../../live/verify.js";
import {Residual} from "../../viewer/law.js";
import {settingsOf, tablePair} from "./beams.js";

/* Accepts every guess that the large model allows at all. */
class AcceptAll extends Residual {
  chance(at) {
    return at === null ? 0 : 1;
  }
}

/* Draws the missing word from P, where it is due from P'. */
class Forgetful extends Residual {
  masses() {
    return this.targets;
  }
}

/* Applies the temperature twice to the large model's law. */
const warpedTwice = (rows, beams, settings, size) =>
  RULES.jointLaw(rows, beams, {...settings, temperature: settings.temperature ** 2}, size);

const BROKEN = {
  accept_all: {Residual: AcceptAll},
  forget_residual: {Residual: Forgetful},
  warp_twice: {jointLaw: warpedTwice},
};

/* pair: {layers, words, target, draft}, two tables. settings: {depth, guesses, width, temperature,
 * decoder}. Returns the last beams and all passes of the target, each a list of layers. */
export function decodeTables(pair, {decoder, ...settings}, generator) {
  const rules = {...RULES, ...BROKEN[decoder]};
  const chosen = settingsOf({...settings, layers: pair.layers});
  const run = iterations(tablePair(pair), [0], chosen, {generator, rules, now: () => 0});
  const passes = [];
  let step = run.next();
  while (!step.done) {
    const isCall = typeof step.value === "function";
    if (!isCall) passes.push(step.value.layers);
    step = run.next(isCall ? step.value() : undefined);
  }
  const beams = step.value.beams.map(({node, multiplicity}) => ({path: idsOf(node).join(""), multiplicity}));
  return {beams, passes};
}
