/* A race in this browser: beam sampling and the method of the form take turns on a prompt; the first round warms up. */

import {localised, make, table} from "../viewer/dom.js";

const ROUNDS = 3;
export const OPPONENT = "beam_sampling";

/* client: a Client. asked: {prompt, settings}. tell: called with what is going on. Returns a table; null if stopped. */
export async function race(client, {prompt, settings}, {words, say, names}, tell) {
  const beams = settings.max_width ?? settings.draft_width ?? settings.num_beams ?? 4;
  const {seed = 0, max_new_tokens} = settings;
  const lanes = [{method: OPPONENT, num_beams: beams, max_new_tokens}, settings].map((one) => ({one, runs: []}));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const {one, runs} of lanes) {
      tell(say("racing", {round, rounds: ROUNDS, method: names.get(one.method)}));
      const end = await client.run({prompt, settings: {...one, seed: seed + round}});
      if (end.kind === "stopped") return null;
      if (round) runs.push(end.trace.result.stats);
    }
  }
  const rows = lanes.map(({one, runs}) => {
    const name =
      one.method === OPPONENT
        ? `${names.get(one.method)} (${words["field.num_beams"]}: ${beams})`
        : names.get(one.method);
    const middle = (key) => median(runs.map((stats) => stats[key]));
    const cells = [
      localised(middle("iterations")),
      localised(middle("seconds"), 2),
      localised(middle("tokens_per_second")),
    ];
    return make("tr", {}, make("th", {scope: "row", text: name}), ...cells.map((text) => make("td", {text})));
  });
  const caption = make("caption", {text: say("race.note", {rounds: ROUNDS})});
  return table(["", words.passes, words.seconds, words.speed], rows, caption);
}

const median = (values) => [...values].sort((one, other) => one - other)[values.length >> 1];
