/* A bundled pair on ONNX Runtime Web: loaded from a folder of shared files, with the weights that Python reads too.
 *
 * The graph of a model comes from dsbd/models/engines/onnx_graph.py. It takes the keys and values of the slots in
 * use and returns those of the tokens that were computed. */

import {Refused} from "./settings.js";

/** @import {LivePair} from "../viewer/types" */

const MOST_THREADS = 4;
const WASM = "runtime/ort-wasm-simd-threaded.wasm.gz";

let libraries = null; // loaded once

/** base: URL of the folder, with a slash; progress(loaded, total): bytes; check: throws to stop.
 * @param {string} base @param {string} name
 * @returns {Promise<LivePair & {asPrompt: (typed: string) => string}>} */
export async function loadPair(base, name, {progress = () => {}, check = () => {}} = {}) {
  const folder = new URL(base);
  const {pairs, files: listed} = parsed(await fetched(folder, LIST, check, () => {}));
  if (!Object.hasOwn(pairs, name)) {
    throw new Error(`no pair is named ${name}; there are ${Object.keys(pairs).join(", ")}`);
  }
  /** @param {[string, any]} file */
  const isNeeded = ([path]) => path.startsWith(`pairs/${name}/`) || (path === WASM && !libraries);
  const contents = await readAll(folder, Object.entries(listed).filter(isNeeded), check, progress);
  libraries ??= await openLibraries(folder, contents.get(WASM));
  const table = (file) => parsed(contents.get(`pairs/${name}/target/${file}`));
  const tokenizer = openTokenizer(libraries.Tokenizer, table("tokenizer.json"), table("tokenizer_config.json"));
  const eos = new Set([table("generation_config.json").eos_token_id].flat());
  const {id, prompt} = pairs[name];
  const models = {target: null, draft: null};
  for (const role of Object.keys(models)) {
    check();
    const files = taken(contents, `pairs/${name}/${role}/`);
    const record = {id: `${id}/${role}`, revision: null, dtype: "float32", device: "browser"};
    if (files.size) models[role] = await openModel(libraries.ort, record, files);
  }
  return {...models, tokenizer, eos, asPrompt: (typed) => asPrompt(prompt, typed)};
}

/* The prompt that the models read where a visitor typed this. The same as as_prompt in visualize/page/form.py. */
function asPrompt(template, typed) {
  const [before, after] = template.split("{}");
  return typed.trimStart().startsWith(before.trim()) ? typed : before + typed.trim() + after;
}

/* Takes the contents of a folder out of a map, so that they are in memory only while a model is made of them. */
function taken(contents, folder) {
  const files = [...contents].filter(([path]) => path.startsWith(folder));
  files.forEach(([path]) => contents.delete(path));
  return new Map(files.map(([path, content]) => [path.slice(folder.length), content]));
}

async function openLibraries(folder, wasm) {
  const load = (name) => import(new URL(`runtime/${name}`, folder).href);
  const all = [load("ort.wasm.bundle.min.mjs"), load("tokenizers.min.mjs"), unpacked(wasm)];
  const [ort, {Tokenizer}, wasmBinary] = await Promise.all(all).catch((error) => {
    throw new Refused("unloaded", {path: `${folder}runtime`, said: error.message}, {cause: error});
  });
  const half = () => Math.ceil(navigator.hardwareConcurrency / 2); // all cores are slow where another program works
  ort.env.wasm.numThreads = globalThis.crossOriginIsolated ? Math.min(MOST_THREADS, half()) : 1;
  ort.env.wasm.wasmBinary = wasmBinary;
  return {ort, Tokenizer};
}

/* ---- files, read with progress, and checked against the list that was written with them ------------------------- */

const LIST = "files.json";

/* The contents of files by path. files: [path, {bytes, sha256}] of each. */
async function readAll(folder, files, check, progress) {
  const total = files.reduce((sum, [, {bytes}]) => sum + bytes, 0);
  let loaded = 0;
  const report = (bytes) => progress((loaded += bytes), total);
  const read = async ([path, expected]) => [path, await checked(folder, path, expected, check, report)];
  return new Map(await Promise.all(files.map(read)));
}

async function checked(folder, path, {bytes, sha256: expected}, check, report) {
  const content = await fetched(folder, path, check, report);
  const isSame = content.length === bytes && ((await sha256(content)) || expected) === expected;
  if (!isSame) throw new Refused("altered", {path});
  return content;
}

/* In hex; empty where the browser cannot compute one. */
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return "";
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function fetched(folder, path, check, report) {
  const parts = [];
  let size = 0;
  for await (const part of streamed(folder, path)) {
    check();
    parts.push(part);
    size += part.length;
    report(part.length);
  }
  const whole = new Uint8Array(size);
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

async function* streamed(folder, path) {
  try {
    const response = await fetch(new URL(path, folder));
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const reader = response.body.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch (error) {
    throw new Refused("unloaded", {path, said: error.message}, {cause: error});
  }
}

async function unpacked(content) {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const parsed = (content) => JSON.parse(new TextDecoder().decode(content));

const NO_MEMORY = /memory|alloc|out of range/i;

/* record: id, revision, dtype and device, as the trace has them. files: contents by name, the graph among them. */
export async function openModel(ort, record, files) {
  const config = parsed(files.get("config.json"));
  const weights = [...files].filter(([name]) => name.endsWith(".safetensors"));
  const externalData = weights.map(([path, data]) => ({path, data}));
  const options = {externalData, logSeverityLevel: 3};
  const session = await explained(() => ort.InferenceSession.create(files.get("browser.onnx"), options));
  const caches = session.inputNames.filter((name) => /^(keys|values)\d+$/.test(name));
  const groups = config.num_key_value_heads;
  const size = config.head_dim;

  async function forward({tokens, positions, mask, outputs, used}) {
    const count = tokens.length;
    const integers = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);
    const feeds = {
      tokens: integers(tokens, [count]),
      positions: integers(positions, [1, count]),
      asked: integers(outputs, [outputs.length]),
      mask: new ort.Tensor("float32", mask, [count, mask.length / count]),
    };
    caches.forEach((name, number) => {
      feeds[name] = new ort.Tensor("float32", used[number], [mask.length / count - count, groups, 1, size]);
    });
    const results = await explained(() => session.run(feeds));
    const width = config.vocab_size;
    const logits = outputs.map((_, at) => results.logits.data.subarray(at * width, (at + 1) * width));
    return {logits, computed: caches.map((name) => results[`new_${name}`].data)};
  }

  return {
    ...record,
    vocabulary: config.vocab_size,
    context: config.max_position_embeddings,
    attention: "forest",
    newState: () => new ForestState(forward, caches.length, groups * size),
  };
}

/* Explains an error of the runtime that means a full memory. */
async function explained(work) {
  try {
    return await work();
  } catch (error) {
    const isBare = error instanceof RangeError || typeof error === "number";
    if (isBare || NO_MEMORY.test(error?.message ?? error)) {
      throw new Refused("memory", {}, {cause: error});
    }
    throw error;
  }
}

/* Keys and values of the prompt and of a tree of nodes, one slot each, the prompt first. By the attention mask each
 * node sees the prompt and its own ancestors; its position is the prompt's length plus its depth. The last nodes of the
 * beams are not kept: each iteration computes them again, for their logits. Like dsbd/models/states/forest.py. */
const PREFILL_TOKENS = 512;
const FIRST_ROOM = 256;
const UNSEEN = -3.4e38;

class ForestState {
  slots = 0;
  peak = 0;
  #forward;
  #perSlot;
  #caches;
  #prompt = 0; // slots
  #last; // id of the prompt
  #slotOf = new Map(); // of nodes

  /* forward: of a model. count: how many arrays of keys and values; perSlot: how many numbers a slot has in each. */
  constructor(forward, count, perSlot) {
    this.#forward = forward;
    this.#perSlot = perSlot;
    this.#caches = Array.from({length: count}, () => new Float32Array(FIRST_ROOM * perSlot));
  }

  get bytesPerSlot() {
    return this.#caches.length * this.#perSlot * Float32Array.BYTES_PER_ELEMENT;
  }

  /* Reads all ids of a prompt but the last, which is the root's token. */
  async prefill(ids) {
    const stored = ids.slice(0, -1);
    for (let start = 0; start < stored.length; start += PREFILL_TOKENS) {
      const tokens = stored.slice(start, start + PREFILL_TOKENS);
      const positions = tokens.map((_, at) => start + at);
      await this.#run(tokens, positions, (mask, at) => mask.fill(0, 0, start + at + 1), [0]);
    }
    this.#prompt = stored.length;
    this.#last = ids.at(-1);
  }

  /* Returns the logits of distinct nodes, parents before children; brings their missing ancestors along. */
  async forward(nodes) {
    const slotOf = new Map(); // of the nodes that are computed
    const add = (node) => {
      if (!node || this.#slotOf.has(node) || slotOf.has(node)) return;
      add(node.parent);
      slotOf.set(node, this.slots + slotOf.size);
    };
    for (const node of nodes) {
      add(node.parent);
      slotOf.set(node, this.slots + slotOf.size);
    }
    const order = [...slotOf.keys()];
    const tokens = order.map((node) => (node.parent ? node.token : this.#last));
    const positions = order.map((node) => this.#prompt + node.length);
    const see = (mask, at) => {
      mask.fill(0, 0, this.#prompt);
      for (let node = order[at]; node; node = node.parent) mask[slotOf.get(node) ?? this.#slotOf.get(node)] = 0;
    };
    const outputs = nodes.map((node) => slotOf.get(node) - this.slots);
    const logits = await this.#run(tokens, positions, see, outputs);
    slotOf.forEach((slot, node) => this.#slotOf.set(node, slot));
    return logits;
  }

  /* Keeps the ancestors of the beams that go on, moved together behind the prompt. */
  commit(nodes) {
    const kept = new Set();
    for (const {parent} of nodes) {
      for (let node = parent; node && !kept.has(node); node = node.parent) kept.add(node);
    }
    const order = [...this.#slotOf.keys()].filter((node) => kept.has(node)); // the slots ascend
    order.forEach((node, at) => {
      const from = this.#slotOf.get(node) * this.#perSlot;
      const to = (this.#prompt + at) * this.#perSlot;
      for (const cache of this.#caches) cache.copyWithin(to, from, from + this.#perSlot);
    });
    this.#slotOf = new Map(order.map((node, at) => [node, this.#prompt + at]));
    this.slots = this.#prompt + order.length;
  }

  async #run(tokens, positions, see, outputs) {
    const total = this.slots + tokens.length;
    const mask = new Float32Array(tokens.length * total).fill(UNSEEN);
    tokens.forEach((_, at) => see(mask.subarray(at * total, (at + 1) * total), at));
    const used = this.#caches.map((cache) => cache.subarray(0, this.slots * this.#perSlot));
    const {logits, computed} = await this.#forward({tokens, positions, mask, outputs, used});
    computed.forEach((states, number) => this.#append(number, states));
    this.slots = total;
    this.peak = Math.max(this.peak, total);
    return logits;
  }

  #append(number, states) {
    const start = this.slots * this.#perSlot;
    const cache = this.#caches[number];
    if (cache.length < start + states.length) {
      this.#caches[number] = new Float32Array(2 * (start + states.length));
      this.#caches[number].set(cache.subarray(0, start));
    }
    this.#caches[number].set(states, start);
  }
}

/* The tokenizer of a bundled pair, whose vocabulary is one of bytes. The same as dsbd/models/pair.py. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Tokenizer: the class of the library. definition, settings: tokenizer.json and tokenizer_config.json.
 * @returns {LivePair["tokenizer"]} */
function openTokenizer(Tokenizer, definition, settings) {
  const tokenizer = new Tokenizer(definition, settings);
  const added = tokenizer.get_added_tokens_decoder();
  const bytes = byteOfCharacter();
  const strict = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
  const lenient = new TextDecoder("utf-8", {ignoreBOM: true});

  function bytesOf(id) {
    const token = tokenizer.id_to_token(id);
    if (token === undefined) return new Uint8Array();
    return added.has(id) ? new TextEncoder().encode(token) : Uint8Array.from(token, (one) => bytes.get(one));
  }

  return {
    encode(text) {
      const at = text.search(LONE_SURROGATE);
      if (at >= 0) throw new Refused("unicode", {at: [...text.slice(0, at)].length});
      return tokenizer.encode(text).ids;
    },
    decode(ids) {
      return tokenizer.decode(ids, {skip_special_tokens: true, clean_up_tokenization_spaces: false});
    },
    /* The text and null; if the bytes alone are not UTF-8, the text with U+FFFD and the bytes in hex. */
    piece(id) {
      const content = bytesOf(id);
      try {
        return [strict.decode(content), null];
      } catch {
        const hex = Array.from(content, (byte) => byte.toString(16).padStart(2, "0"));
        return [lenient.decode(content), hex.join("")];
      }
    },
    isSpecial: (id) => added.get(id)?.special === true,
  };
}

/* A printable Latin-1 character stands for its code, and the characters from U+0100 on stand for the other bytes. */
function byteOfCharacter() {
  let next = 0x100;
  const isPrintable = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  const codeOf = (byte) => (isPrintable(byte) ? byte : next++);
  return new Map(Array.from({length: 256}, (_, byte) => [String.fromCharCode(codeOf(byte)), byte]));
}
