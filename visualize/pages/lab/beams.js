/* Tables in place of models: a table has the law of the next word for every path, a string with one digit per word. */

import {idsOf} from "../../live/decode.js";
import {resolved} from "../../live/settings.js";

/* The law after a path, as the models of a decode give it. */
export const logitsOf = (table, path) => table[path].map(Math.log);

/* A pair of tables as a pair of models, which answer at once and remember nothing. */
export function tablePair({target, draft, words}) {
  const model = (table) => {
    const feed = (nodes) => nodes.map((node) => logitsOf(table, idsOf(node).join("")));
    return {vocabulary: words.length, row: () => ({slots: 0, prefill() {}, commit() {}, feed})};
  };
  return {target: model(target), draft: model(draft), eos: new Set()};
}

/* The settings of beam sampling with tables: every layer has this width, and every pair counts. */
export const settingsOf = ({layers, width, depth = 0, guesses = 1, temperature = 1}) =>
  resolved({
    max_new_tokens: layers,
    draft_depth: depth,
    draft_width: guesses,
    min_width: width,
    max_width: width,
    width_threshold: 1,
    temperature,
    top_k: 0,
  });

/* The end of a decode as a text: every path as often as it counts, in a fixed order. */
export const endOf = (beams) =>
  beams
    .flatMap(({path, multiplicity}) => Array(multiplicity).fill(path))
    .sort()
    .join("+");
