/* Tests of the live pair under node; test_live.py runs them, with what Python says in ``given``. */

import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";
import {test} from "node:test";

import {loadPair, openModel} from "../../visualize/live/model.js";
import {decode} from "../../visualize/live/trace.js";
import {given} from "./given.js";

const altered = new Map(); // contents by the end of an address; null: the file is missing

globalThis.fetch = async (url) => {
  const name = [...altered.keys()].find((end) => url.href.endsWith(end));
  if (name && altered.get(name) === null) return new Response("", {status: 404});
  return new Response(name ? altered.get(name) : await readFile(url));
};

/* Returns the key and the values with which a load fails, with other contents for some files. */
async function failure(contents, name = "stories", options = {}) {
  Object.entries(contents).forEach(([path, content]) => altered.set(path, content));
  const error = await loadPair(given.folder, name, options).catch((actual) => actual);
  altered.clear();
  assert.ok(error instanceof Error);
  return error.message;
}

test("a missing or altered file is refused", async () => {
  const draft = "stories/draft/config.json";
  assert.match(await failure({[draft]: null}), /^unloaded .*config\.json.*HTTP 404/);
  assert.match(await failure({[draft]: "{}"}), /^altered .*draft\/config\.json/);
  const same = (await readFile(new URL(`${given.folder}pairs/${draft}`), "utf8")).replace("256", "257");
  assert.match(await failure({[draft]: same}), /^altered/);
  assert.match(await failure({}, "constructor"), /no pair is named constructor; there are stories, sql/);
});

test("a full memory is refused", async () => {
  const files = new Map([["config.json", new TextEncoder().encode("{}")]]);
  for (const error of [
    new RangeError("WebAssembly.Memory(): could not allocate memory"),
    new Error("std::bad_alloc"),
    7,
  ]) {
    const ort = {InferenceSession: {create: () => Promise.reject(error)}};
    await assert.rejects(openModel(ort, {}, files), /^Error: memory/);
  }
});

for (const [name, expected] of Object.entries(given.pairs)) {
  test(`the pair ${name}`, async (about) => {
    const seen = [];
    const pair = await loadPair(given.folder, name, {progress: (...bytes) => seen.push(bytes)});
    assert.deepEqual([...pair.eos], expected.eos);
    assert.equal(seen.at(-1)[0], seen.at(-1)[1]);
    assert.ok(seen.length > 8);

    await about.test("tells what the trace records", () => {
      const {id, revision, dtype, device, vocabulary, attention} = pair.target;
      assert.deepEqual({id, revision, vocabulary, attention}, expected.record);
      assert.deepEqual([dtype, device], ["float32", "browser"]);
    });

    await about.test("has Python's ids, texts and pieces", () => {
      const {tokenizer} = pair;
      for (const [text, ids, decoded] of expected.texts) {
        assert.deepEqual(tokenizer.encode(text), ids, JSON.stringify(text));
        assert.equal(tokenizer.decode(ids), decoded);
      }
      expected.pieces.forEach((piece, id) => assert.deepEqual(tokenizer.piece(id), piece));
      expected.special.forEach((special, id) => assert.equal(tokenizer.isSpecial(id), special));
      assert.throws(() => tokenizer.encode("ab\u{1f600}\ud800"), /^Error: unicode {"at":3}$/);
    });

    await about.test("reads what the page's server reads of what is typed", () => {
      for (const [typed, prompt] of expected.prompts) assert.equal(pair.asPrompt(typed), prompt);
    });

    for (const {name: recorded, text, settings, ids, slots} of expected.decodes) {
      await about.test(`decodes ${recorded} as recorded`, async () => {
        let last;
        for await (last of decode(pair, {text, ids: pair.tokenizer.encode(text)}, settings));
        const {result, iterations} = last.trace;
        const actual = result.beams.map(({token_ids}) => token_ids);
        assert.deepEqual(actual, ids);
        assert.deepEqual(
          iterations.map(({kept}) => [kept.slots_scored, kept.slots_kept]),
          slots,
        );
      });
    }
  });
}
