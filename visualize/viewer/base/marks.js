/* How the states of nodes are shown: three marks for what became of a guess, or the exact states. */

import {STYLES} from "./languages.js";

/* In the order of the legend. */
export const ORDER = [
  "input",
  "drafted",
  "cover",
  "accepted",
  "carried",
  "rejected",
  "orphaned",
  "unneeded",
  "recovered",
  "fresh",
  "bonus",
  "landed",
];
/* The states of what a layer yielded. */
export const YIELDED = ["accepted", "carried", "recovered", "fresh", "bonus"];

const PLAIN = {
  input: ["input", "start"],
  drafted: ["drafted", "guess"],
  cover: ["drafted", "guess"],
  accepted: ["accepted", "kept"],
  carried: ["accepted", "kept"],
  rejected: ["rejected", "dropped"],
  orphaned: ["rejected", "dropped"],
  unneeded: ["rejected", "dropped"],
  recovered: ["recovered", "picked"],
  fresh: ["recovered", "picked"],
  bonus: ["recovered", "picked"],
};

/* The mark of a state: the state whose look it has, that look, and its name. */
export function markOf(state, exact, say) {
  const [shown, key] =
    exact || !PLAIN[state] ? [state, `state.${state}`] : [PLAIN[state][0], `mark.${PLAIN[state][1]}`];
  return {state: shown, style: STYLES[shown], name: say(key)};
}
