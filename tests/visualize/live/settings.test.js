/* The settings of a decode in the browser: what is refused, and with which words. */

import assert from "node:assert/strict";
import test from "node:test";

import {decode} from "../../../visualize/live/decode.js";
import {resolved} from "../../../visualize/live/settings.js";
import {tablePair} from "./tables.js";

const REFUSED = [
  [{method: "specinfer"}, /^method is "specinfer"; choose one of dsbd, beam_sampling, /],
  [{draft_depth: "auto"}, /^draft_depth is "auto"; the browser measures nothing, so choose a value$/],
  [{max_new_tokens: 0}, /^max_new_tokens is 0; allowed are whole numbers from 1 to 32768$/],
  [{draft_width: 2.5}, /^draft_width is 2.5; allowed are whole numbers from 1 to 256$/],
  [{input_beams: 65}, /^input_beams is 65; allowed are whole numbers from 1 to 64 or null$/],
  [{top_p: 0}, /^top_p is 0; allowed are numbers above 0, at most 1$/],
  [{temperature: NaN}, /^temperature is null; allowed are numbers from 0 to 100$/],
  [{replacement: 1}, /^replacement is 1; choose one of true, false$/],
  [{min_width: 3, max_width: 2}, /^max_width is 2, below min_width 3; raise max_width or lower min_width$/],
  [{depth_costs: [1, 1]}, /^depth_costs is given; /],
  [{widht: 3}, /^unknown setting "widht"; leave it out$/],
];

for (const [asked, said] of REFUSED) {
  test(`${JSON.stringify(asked)} is refused`, () => assert.throws(() => resolved(asked), {message: said}));
}

const EVEN = Object.fromEntries(["1", "0,0", "0,1", "1,0", "1,1"].map((key) => [key, [0, 0]]));
const PROMPT = {text: "1", ids: [1]};

async function whole(run) {
  const told = [];
  for await (const one of run) told.push(one);
  return told;
}

/* Catches a decode that starts without the model it needs, and numbers that are none. */
test("a pair that cannot decode says so", async () => {
  const pair = {...tablePair({target: EVEN, draft: EVEN, eos: []}), draft: null};
  await assert.rejects(decode(pair, PROMPT, {}).next(), {message: /^method dsbd needs a draft model; choose sampling/});
  const empty = decode(tablePair({target: EVEN, draft: EVEN, eos: []}), {text: "", ids: []}, {});
  await assert.rejects(empty.next(), {message: "the prompt has no tokens; give some text"});
  const short = tablePair({target: EVEN, draft: EVEN, eos: []});
  short.draft.context = 64;
  const refused = {message: /^prompt of 1 tokens plus max_new_tokens 64 exceeds the context of 64 tokens; shorten/};
  await assert.rejects(decode(short, PROMPT, {}).next(), refused);
  const broken = tablePair({target: {1: [NaN, 0]}, draft: EVEN, eos: []});
  const said = {message: "the target model returns logits that are not numbers; load it again"};
  await assert.rejects(whole(decode(broken, PROMPT, {method: "sampling"})), said);
});

/* Catches a model that is called after the reader has stopped. */
test("a decode stops before the next call of a model", async () => {
  let calls = 0;
  const check = () => {
    if (++calls === 5) throw new Error("stopped");
  };
  const run = decode(tablePair({target: EVEN, draft: EVEN, eos: []}), PROMPT, {method: "sampling"}, {check});
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const {iteration} of run) if (iteration) seen.push(iteration.index);
    },
    {message: "stopped"},
  );
  assert.deepEqual(seen, [0, 1, 2]); // the first call reads the prompt
});
