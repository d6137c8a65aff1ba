/* How the states of nodes are shown: three marks for what became of a guess, or the exact states. */

import {STYLES} from "./languages.js";

/* In the order of the legend. */
export const ORDER = Object.keys(STYLES);

/* The states of what a layer yielded. */
export const YIELDED = ["accepted", "carried", "recovered", "fresh", "bonus"];

/* The states that share a mark: three marks for verdicts and two for what is not decided. A mark has the look of its
 * first state. */
export const MARKS = {
  start: ["input"],
  guess: ["drafted", "cover"],
  kept: ["accepted", "carried"],
  dropped: ["rejected", "orphaned", "unneeded"],
  picked: ["recovered", "fresh", "bonus"],
};

/* The mark of a state: the state whose look it has, that look, and its name. */
export function markOf(state, exact, say) {
  const plain = exact ? undefined : Object.keys(MARKS).find((mark) => MARKS[mark].includes(state));
  const shown = plain ? MARKS[plain][0] : state;
  return {state: shown, style: STYLES[shown], name: say(plain ? `mark.${plain}` : `state.${state}`)};
}
