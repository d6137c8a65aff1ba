/* The race of the two lanes, from the trace: which pass lands when, and what guessing and choosing took. */

import {records} from "../base/dom.js";

/* What happens when, in passes; null where guessing wins nothing or changes the law, or the text is not known yet. */
export function raceOf(scene, texts) {
  const bands = records(scene.whole.bands);
  const alone = bands.length ? bands[bands.length - 1].last : 0;
  const [best] = scene.result;
  const isWhole = best && scene.iterations.length === bands.length;
  if (!isWhole || !scene.settings.lossless || bands.length >= alone) return null;
  const seconds = scene.iterations.map((iteration) => iteration.seconds);
  const sum = (phase) => seconds.reduce((total, one) => total + one[phase], 0);
  const pass = sum("score") / seconds.length || Infinity;
  let now = 0;
  const turns = bands.map(({first, last}, at) => {
    const {draft, verify, commit} = seconds[at];
    const from = now;
    const check = from + draft / pass;
    now = check + 1 + (verify + commit) / pass;
    return {from, check, lands: now, last, won: last - first + 1, guesses: guessesOf(scene.iterations[at])};
  });
  const tokens = texts.path(best.node);
  const guided = tokens.map((_, at) => turns.find(({last}) => at < last)?.lands ?? now);
  return {
    tokens,
    ended: best.finished,
    turns,
    alone,
    guided,
    whole: Math.max(alone, now),
    share: sum("draft") / sum("score"),
    choosing: (sum("verify") + sum("commit")) / sum("score"),
  };
}

/* How many passes of the small model made the guesses: one for each column of them. */
const guessesOf = ({nodes}) => new Set(records(nodes).flatMap((node) => (isGuess(node) ? [node.column] : []))).size;
const isGuess = ({kind}) => kind === "drafted" || kind === "cover";
