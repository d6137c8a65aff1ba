/* How the states of nodes are shown: by five marks, the same in every drawing. look/marks.json says which states
 * share one. */

import {STYLES} from "./languages.js";

/* The states of what a layer yielded. */
export const YIELDED = [...STYLES.kept.states, ...STYLES.picked.states];

const MARK_OF = Object.fromEntries(
  Object.entries(STYLES).flatMap(([mark, {states}]) => states.map((state) => [state, mark])),
);

export const markOf = (state) => MARK_OF[state];
