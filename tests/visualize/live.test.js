/* The settings of a decode in the browser: what is refused, and with which words. */

import assert from "node:assert/strict";
import test from "node:test";

import en from "../../visualize/words/en.json" with {type: "json"};
import {keepBest, ranked} from "../../visualize/live/decode.js";
import {resolved, sentenceOf} from "../../visualize/live/settings.js";
import {decode} from "../../visualize/live/trace.js";
import {tablePair} from "./tables.js";

/* The sentence of an error on a page of a language. */
function sentenceFor(error, table = en) {
  const starts = Object.entries(table).filter(([key]) => key.startsWith("page.live."));
  const words = Object.fromEntries(starts.map(([key, text]) => [key.slice("page.live.".length), text]));
  const labelOf = (name) => words[`field.${name}`] ?? name;
  return sentenceOf(error, {words, labelOf, language: table.language});
}

const REFUSED = [
  [{draft_depth: "auto"}, "Tokens guessed ahead is auto; the browser measures nothing, so choose a value."],
  [{method: "mjsd"}, "method is mjsd, which needs Python; choose another."],
  [{max_new_tokens: 0}, "New tokens is 0; allowed are whole numbers from 1 to 32,768."],
  [{draft_width: 2.5}, "Guesses for each token is 2.5; allowed are whole numbers from 1 to 256."],
  [{input_beams: 65}, "Input beams is 65; allowed are whole numbers from 1 to 64."],
  [{top_p: 0}, "Top-p is 0; allowed are numbers above 0, at most 1."],
  [{length_penalty: 11}, "Length penalty is 11; allowed are numbers from -10 to 10."],
  [{temperature: NaN}, "Temperature is not a number; type one."],
  [{min_width: 3, max_width: 2}, "Most width is 2, below Least width 3; raise Most width or lower Least width."],
];

for (const [settings, sentence] of REFUSED) {
  const isRight = (error) => sentenceFor(error) === sentence;
  test(`${JSON.stringify(settings)} is refused`, () => assert.throws(() => resolved(settings), isRight));
}

test("a trace with measured depths is refused", () =>
  assert.throws(() => resolved({depth_costs: [1, 1]}), {message: /^depth_costs is given; /}));

const EVEN = Object.fromEntries(["1", "0,0", "0,1", "1,0", "1,1"].map((key) => [key, [0, 0]]));
const PROMPT = {text: "1", ids: [1]};

/* Catches a prompt without room for new tokens, and numbers that are none. */
test("a pair that cannot decode says so", async () => {
  const short = tablePair({target: EVEN, draft: EVEN, eos: []});
  short.draft.context = 64;
  const said64 = /^The prompt of 1 tokens plus New tokens 64 exceeds the context of 64 tokens; shorten/;
  await assert.rejects(decode(short, PROMPT, {}).next(), (error) => said64.test(sentenceFor(error)));
  const broken = tablePair({target: {1: [NaN, 0]}, draft: EVEN, eos: []});
  const sentence = {message: "the target model returns logits that are not numbers; load it again"};
  const run = decode(broken, PROMPT, {method: "sampling"});
  await run.next();
  await assert.rejects(run.next(), sentence);
});

/* Catches hypotheses of equal weight in another order than Python's: the earlier beam wins, a finished one first. */
test("ties go to the earlier beam", () => {
  const beamOf = (name, log_weight, length = 2) => ({name, log_weight, node: {length}});
  const beams = [beamOf("a", -2), beamOf("b", -1), beamOf("c", -2), beamOf("d", -1)];
  const namesOf = (beams) => beams.map(({name}) => name).join("");
  assert.equal(namesOf(keepBest(beams, 3)), "abd");
  assert.equal(namesOf(keepBest(beams, null)), "abcd");
  assert.equal(
    namesOf(ranked({finished: [beamOf("e", -2, 4)], beams: [...beams, beamOf("f", -0.6, 1)]}, {length_penalty: 1})),
    "ebdfac",
  );
});
