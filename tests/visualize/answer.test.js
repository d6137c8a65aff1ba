/* What the page says of a decode's settings, and which preset they are. */

import assert from "node:assert/strict";
import test from "node:test";

import {
  agrees,
  asMeasured,
  distinct,
  headline,
  kept,
  presetOf,
  program,
  valuesOf,
} from "../../visualize/page/answer.js";
import {forestOf} from "../../visualize/page/question.js";

const methods = {dsbd: "DSBD", beam_sampling: "Beam sampling", mjgd: "Best blocks, MJGD", sampling: "Sampling"};
const facts = {methods, plain: {dsbd: "beam_sampling", speculative: "sampling", mjgd: "greedy"}};
const DSBD = {method: "dsbd", lossless: true, draft_depth: 4, draft_width: 6, min_width: 4, max_width: 4};
const ROWS = [
  [DSBD, "exact", "Each text as likely as in beam sampling with 4 beams"],
  [{...DSBD, min_width: 1, max_width: 1}, "exact", "as likely as in beam sampling with 1 beam"],
  [{...DSBD, min_width: 1}, "fast", "a narrower search where it is sure"],
  [{...DSBD, input_beams: 1}, null, "each pass goes on from the best 1 only"],
  [{...DSBD, forest: "coupled"}, "exact", "it is, token for token, that of beam sampling with 4 beams and this seed"],
  [
    {...DSBD, forest: "coupled", replacement: false},
    "exact",
    "that of beam sampling with 4 distinct beams and this seed",
  ],
  [{...DSBD, forest: "sampled"}, null, "Each text as likely as in beam sampling with 4 beams"],
  [{...DSBD, replacement: false}, null, "Each text as likely as in beam sampling with 4 distinct beams"],
  [{...DSBD, method: "speculative"}, null, "Each text as likely as in sampling"],
  [{...DSBD, method: "beam_sampling", draft_depth: 0}, "plain", "The large model alone: beam sampling"],
  [{...DSBD, method: "mjgd", lossless: false}, null, "The likeliest block of tokens, again and again"],
];
for (const [settings, preset, words] of ROWS) {
  test(`${words} ${settings.min_width}`, () => {
    assert.equal(presetOf(settings), preset);
    assert.ok(kept(settings, facts).words.includes(words), kept(settings, facts).words);
  });
}

test("a headline counts passes, but for searched blocks, and the time that they cost", () => {
  const iterations = [{layers: [1, 2]}, {layers: [1, 2, 3]}];
  const trace = {iterations, settings: DSBD, result: {token_ids: [1, 2, 3, 4, 5], stats: {target_calls: 40}}};
  const said = [
    [null, "2 passes instead of 5"],
    [2.04, "2 passes instead of 5: about 2 × as fast"],
    [1.06, "2 passes instead of 5: about as fast"],
    [0.616, "2 passes instead of 5: about 1.6 × the time"],
  ];
  for (const [ratio, words] of said) assert.equal(headline(trace, ratio), words);
  const blocks = {...trace, settings: {...DSBD, method: "mjgd"}};
  assert.equal(headline(blocks), "2 blocks of tokens, each found by many passes");
  const ended = {...trace, iterations: [...iterations, {layers: [1]}]}; // the answer ended in the pass before
  assert.equal(headline(ended), "2 passes instead of 5");
  const stopped = {...ended, result: null}; // its best version has ended, and the others went on
  assert.equal(headline(stopped, 2.04, "", 4), "2 passes instead of 4: about 2 × as fast");
  const alone = {...ended, settings: {...DSBD, draft_depth: 0}, result: {token_ids: [1, 2]}};
  assert.equal(headline(alone), "1 pass of the large model, one for each token");
});

test("a calculated speed stands where no measured range contradicts it", () => {
  for (const [ratio, range] of [
    [null, [1, 2]],
    [1.3, null],
    [1.3, undefined],
    [1.3, [1.34, 2]],
    [2.04, [1, 2]],
    [0.81, [0.75, 0.83]],
  ]) {
    assert.ok(agrees(ratio, range));
  }
  assert.ok(!agrees(0.88, [0.78, 0.84]), "1.1 is not 1.2 to 1.3 times the time");
  for (const range of [
    [1.9, 2.3],
    [0.9, 1.1],
  ]) {
    assert.ok(!agrees(1.3, range));
    const {scale} = asMeasured({alone: 1}, 1.3, range);
    assert.ok(agrees(1.3 / scale, range), "what is scaled lies in the range");
  }
});

test("distinct beams cost what this decode took", () => {
  const trace = {
    settings: {...DSBD, replacement: false},
    iterations: [{layers: [1, 2]}, {layers: [1]}, {layers: [1, 2]}],
  };
  const said = distinct(trace, {alone: 0.0034}, {turns: [{done: 12}, {done: 24}, {done: 33}]});
  assert.equal(said, "Distinct beams: 1.7 tokens from a pass of 11 ms; alone, 1 from 3.4 ms.");
  assert.equal(distinct(trace, null, {turns: []}), "Distinct beams: 1.7 tokens from a pass.");
  assert.equal(distinct({...trace, settings: {...DSBD, replacement: true}}, null, {turns: []}), "");
  assert.equal(distinct({...trace, iterations: []}, null, {turns: []}), "");
});

test("the switch of distinct beams keeps the promise of the same text where the width is fixed, and no other choice", () => {
  const form = {fields: ["forest", "replacement", "min_width", "max_width"], defaults: {forest: "default"}};
  const turned = (...values) => forestOf(values, form);
  assert.equal(turned("dsbd", "default", false, 4, 4), "coupled");
  assert.equal(turned("dsbd", "coupled", true, 4, 4), "default");
  for (const [method, forest, repeats, least] of [
    ["dsbd", "default", false, 1],
    ["dsbd", "sampled", false, 4],
    ["dsbd", "auto", true, 4],
    ["beam_sampling", "default", false, 4],
  ]) {
    assert.equal(turned(method, forest, repeats, least, 4), forest);
  }
});

test("rounding may turn a draw, and the setting says so", () => {
  const {words} = kept({...DSBD, forest: "coupled"}, facts, true);
  assert.equal(words, "Drawn as beam sampling with 4 beams draws with this seed, but for rounding");
});

test("a form shows a forest that follows from its width as the default, and a program names what is no default", () => {
  const form = {fields: ["forest"], reads: {dsbd: ["forest"]}, defaults: {forest: "default"}, ranges: {}};
  const own = {settings: {dsbd: {min_width: 1, max_width: null, forest: null, early_stopping: false}}};
  const fixed = {method: "dsbd", min_width: 4, max_width: 4, replacement: true, landing: true, input_beams: null};
  assert.deepEqual(valuesOf({...fixed, forest: "coupled"}, form), ["default"]);
  assert.deepEqual(valuesOf({...fixed, forest: "sampled"}, form), ["sampled"]);
  assert.deepEqual(valuesOf({...fixed, min_width: 1, forest: "sampled"}, form), ["default"]);
  assert.deepEqual(valuesOf({...fixed, replacement: false, forest: "coupled"}, form), ["coupled"]);
  const trace = {settings: {...fixed, forest: "coupled"}, prompt: {text: "Once"}, models: {target: {id: "bundled/x"}}};
  const lines = program({...trace, settings: {...trace.settings, early_stopping: null}}, own);
  const listed = 'method="dsbd", min_width=4, max_width=4, forest="coupled", early_stopping=None';
  assert.ok(lines.includes(`DecodingSettings(${listed})`), lines);
});
