/* The scene that the viewer makes of a trace, and its sentences: the drawings that Python makes of the same trace have
 * the same places, states, steps and numbers. */

import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import test from "node:test";

import {gzipSync} from "node:zlib";

import {readTrace} from "../../visualize/viewer/reading.js";
import {Scene} from "../../visualize/viewer/scene.js";
import {decodePiece, flowing, hexOf, pieceLabel, shorten, turnIn, visible} from "../../visualize/viewer/tokens.js";
import {STRINGS, Words, number, tellApart} from "../../visualize/viewer/words.js";
import {given, near, scenes} from "./given.js";

const picked = (one, names) => names.map((name) => one[name]);
const NODE = "id parent column row label token state kind".split(" ");

/* What both scenes say: the viewer's, and that of test_javascript.py. */
function drawn(scene) {
  const {bands, iterations} = scene;
  return {
    bands: bands.map((band) => picked(band, ["iteration", "first", "last"])),
    iterations: iterations.map((iteration) => ({
      nodes: iteration.nodes.map((node) => picked(node.id ? node : {...node, label: "", token: ""}, NODE)),
      steps: iteration.steps.map(({changes, ...step}) => [
        ...picked(step, ["phase", "layer", "focus"]),
        changes.map((change) => picked(change, ["node", "state", "multiplicity", "landed"])),
      ]),
      sizes: picked(iteration, ["last_column", "last_row"]),
      layers: iteration.layers.map(({step, chances}) => [step, chances]),
    })),
  };
}

function same(actual, expected, path) {
  if (typeof expected === "number") near(actual, expected, 6e-4, path);
  else if (expected && typeof expected === "object") {
    assert.deepEqual(Object.keys(actual), Object.keys(expected), path);
    for (const name of Object.keys(expected)) same(actual[name], expected[name], `${path}.${name}`);
  } else assert.equal(actual, expected, path);
}

for (const [name, {trace, drawn: expected}] of Object.entries(given.traces)) {
  /* Catches another row, step, label or count, a text that a token does not add, and a trace that is drawn otherwise
   * when it comes piece by piece. */
  test(`the scene of ${name}`, () => {
    const scene = new Scene({...trace, iterations: [], result: null});
    assert.deepEqual([scene.bands, scene.text().tokens, scene.best], [[], [], undefined]);
    trace.iterations.forEach((iteration, at) => {
      scene.add([iteration]);
      assert.equal(scene.bands.length, at + 1);
    });
    scene.end(trace.result);
    same(drawn(scene), drawn(expected), name);
    assert.deepEqual(drawn(scene), drawn(scenes[name]));
  });
}

/* Catches a line that needs a result, and a best text that is not the best. */
test("a decode that was stopped has a best text", () => {
  const {trace, best, text} = given.stopped;
  const scene = new Scene({...trace, result: null});
  assert.equal(scene.best.node, best);
  const actual = scene.text();
  assert.equal(actual.tokens.map((token) => token.text).join(""), text);
  assert.deepEqual([scene.result, scene.final.size, actual.ended], [[], 0, false]);
  const even = ({output_beams, ...one}) => ({
    ...one,
    output_beams: output_beams.map((beam) => ({...beam, log_weight: -1})),
  });
  const tied = new Scene({...trace, iterations: trace.iterations.slice(0, 1).map(even), result: null});
  assert.equal(tied.best.node, trace.iterations[0].output_beams[0].node, "ties go to the earlier beam");
});

/* Catches a file of another kind, a walk that goes round in a circle, and sizes that hold a browser for minutes. */
test("what is no trace is refused, as Python refuses it", async () => {
  const {trace} = given.traces.toy;
  for (const {altered, said} of given.refused) assert.throws(() => new Scene(altered), {message: said});
  const [first] = trace.iterations;
  for (const [part, said] of [
    [{format: "dsbd-trace/1"}, /^Error: format is dsbd-trace\/1; the viewer draws/],
    [{settings: {...trace.settings, max_width: 1e9}}, /max_width is 1000000000, above 64/],
    [{iterations: [{...first, draft_depth: 1e15}]}, /iteration 1 has 1000000000000001 layers, above 33/],
  ]) {
    assert.throws(() => new Scene({...trace, ...part}), said);
  }
  const bomb = gzipSync(Buffer.alloc(2 ** 28 + 1, " "));
  for (const [content, said] of [
    [bomb, /more than 268,435,456 bytes; record a smaller one/],
    [`[${"0,".repeat(12e6)}0]`, /more than 12,000,000 values; record a smaller one/],
    ['{"seed":[1e999]}', /number Infinity is larger than 1e\+300/],
  ]) {
    await assert.rejects(readTrace(new Blob([content])), said);
  }
  for (const pack of [String, gzipSync]) {
    assert.deepEqual(await readTrace(new Blob([pack(JSON.stringify(trace))])), trace);
  }
});

/* Catches a character that is split over tokens and lost, and bytes that are no character and vanish. */
test("hostile tokens", () => {
  let pending = [];
  for (const {piece, text, shown} of given.pieces) {
    const [adds, rest] = decodePiece(piece, pending);
    assert.deepEqual([visible(text), flowing(text), shorten(pieceLabel(piece)), adds, hexOf(rest)], shown);
    pending = rest;
  }
});

const SAID = JSON.parse(readFileSync(new URL("sentences.json", import.meta.url), "utf8"));

/* Everything that is said of an iteration, by kind and place. */
function saidOf(scene, words, {it, kind, at}) {
  const iteration = scene.iterations[it];
  if (kind === "step") return [words.step(iteration, at, scene.settings)];
  if (kind === "layer") {
    const layer = iteration.layer(at);
    const {landed, before} = iteration;
    return [words.layerTitle(layer, before), words.outcome(layer, landed), words.width(layer, scene.settings)];
  }
  const [place, which] = at;
  const fact = iteration.facts[place][which];
  return [words.title(iteration, fact), words.verdict(iteration, fact), words.detail(fact, iteration.nodes[place])];
}

/* One sentence of each kind; catches a template that is filled with another number, and a reason that is another. */
test("what is said of the recorded decodes", () => {
  for (const {trace, said, ...place} of SAID) {
    assert.deepEqual(saidOf(scenes[trace], new Words("en"), place), said);
  }
});

/* A printed number as a number. */
function read(text) {
  const [mantissa, raised = "⁰"] = text.replace("−", "-").split("·10");
  const exponent = [...raised].map((one) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(one)]).join("");
  return Number(`${mantissa}e${exponent}`);
}
const isPrintedAs = (value, text) =>
  Number(text) === value || [2, 3, 4, 5, 6, 7, 8, 9].some((digits) => number(value, digits) === text);

/* Catches a formula whose printed parts give another number than the printed result. */
test("the arithmetic can be done again with the printed numbers", () => {
  const words = new Words("en");
  let count = 0;
  for (const [name, {iterations}] of Object.entries(scenes)) {
    for (const {facts, nodes} of iterations) {
      for (const [place, fact] of facts.flatMap((some, at) => some.map((one) => [at, one]))) {
        const said = words.detail(fact, nodes[place]);
        const [, c, S, residual, P, Q] = /max\(P − (.+)·Q, 0\) \/ (.+) = (.+), P = (.+), Q = (.+)$/.exec(said) ?? [];
        if (c) assert.ok(isPrintedAs(Math.max(read(P) - read(c) * read(Q), 0) / read(S), residual), `${name}: ${said}`);
        const [, chance, above, below] =
          /[<≥] (.+) = P′\/Q; P′ = (?:max.+?= )?(.+?)(?:, P = .+)?, Q = (.+)$/.exec(said) ?? [];
        if (chance) assert.ok(isPrintedAs(Math.min(1, read(above) / read(below)), chance), `${name}: ${said}`);
        count += Boolean(c) + Boolean(chance);
      }
    }
  }
  assert.ok(count > 100);
});

/* Catches a sentence that has no words, or no number, in one of the languages. */
test("every language says everything", () => {
  const all = Object.keys(STRINGS).map((language) => new Words(language));
  for (const [name, scene] of Object.entries(scenes)) {
    if (name === "nasty") continue; // its tokens look like templates
    const it = scene.iterations.length - 1;
    const {steps} = scene.iterations[it];
    for (const words of all) {
      steps.forEach((_, at) => {
        const [said] = saidOf(scene, words, {it, kind: "step", at});
        assert.doesNotMatch(said, /\{\w+\}|^\w+\.\w+|undefined|NaN/);
      });
    }
  }
});

/* Catches a sentence about a small model where there is none: only methods that no copied guess can serve say so. */
test("guesses that are copied from the text", () => {
  const words = new Words("en", true);
  const ours = Object.keys(STRINGS.en).filter((key) => !/^page\.|\.copied$/.test(key));
  const keys = ours.filter((key) => /small model/i.test(words.say(key)));
  assert.deepEqual(keys, ["trial.joint_sums"]);
});

/* Catches the template of a chat in what its reader sees, and a text without turns that is taken for a chat. */
test("what a person wrote in a chat", () => {
  const turn = (text) => turnIn({pieces: text.split(/(<.*?>)/).map((one) => ({text: one, special: one[0] === "<"}))});
  assert.equal(turn("<s>system\nBe kind<e>\n<s>user\nWhy, user?<e>\n<s>assistant\n"), "Why, user?");
  assert.equal(turn("<b><h>user<h>\n\nWhy?<e><h>assistant<h>\n\n"), "Why?");
  assert.equal(turn("<s>The user\nWhy?"), null);
});

/* Catches a language whose plurals Python counts otherwise, and numbers that look alike. */
test("numbers and plurals", () => {
  for (const [values, one] of given.numbers) {
    assert.equal(number(values[0]), one);
    assert.equal(new Set(tellApart(...values)).size, new Set(values).size);
  }
  for (const [language, expected] of Object.entries(given.plurals)) {
    const rules = new Intl.PluralRules(language);
    assert.deepEqual(
      expected.map((_, count) => rules.select(count)),
      expected,
    );
  }
});

/* Catches a misspelt import: joining drops the import lines, and then only a visitor would find it. */
test("every import names an export", async () => {
  assert.equal(typeof (await import("../../visualize/viewer/viewer.js")).mount, "function");
});

/* Catches two files that use one name: joined, they share one scope, and of a module two functions may not, either. */
test("the module of the viewer is one", () => import(`data:text/javascript,${encodeURIComponent(given.module)}`));

for (const [name, code] of Object.entries(given.joined)) {
  test(`the joined code of the ${name} parses`, () => assert.equal(typeof new Function(code), "function"));
}
