/* Loads a bundled pair from the folder of shared files, which visualize/pages/live_files.py writes. */

import {openFiles, parsed, unpacked} from "./files.js";
import {openModel} from "./model.js";
import {Refused} from "./refused.js";
import {openTokenizer} from "./tokenizer.js";

const MOST_THREADS = 4;
const WASM = "runtime/ort-wasm-simd-threaded.wasm.gz";
/* A module whose one function drops a constant of 128 bits. */
const SIMD_START = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12];
const SIMD_MODULE = Uint8Array.from([...SIMD_START, ...new Array(16).fill(0), 26, 11]);

let libraries = null; // loaded once

/* base: URL of the folder, with a slash. progress(loaded, total): bytes. check: throws to stop. */
export async function loadPair(base, name, {progress, check = () => {}} = {}) {
  if (!globalThis.WebAssembly?.validate(SIMD_MODULE)) {
    throw new Refused("simd");
  }
  const folder = new URL(base);
  const {pairs, paths, read} = await openFiles(folder, check);
  if (!Object.hasOwn(pairs, name)) {
    throw new Error(`no pair is named ${name}; there are ${Object.keys(pairs).join(", ")}`);
  }
  const wanted = paths.filter((path) => path.startsWith(`pairs/${name}/`) || (path === WASM && !libraries));
  const contents = await read(wanted, progress);
  libraries ??= await openLibraries(folder, contents.get(WASM));
  const settings = (file) => parsed(contents.get(`pairs/${name}/target/${file}`));
  const tokenizer = openTokenizer(libraries.Tokenizer, settings("tokenizer.json"), settings("tokenizer_config.json"));
  const eos = new Set([settings("generation_config.json").eos_token_id].flat());
  const models = {target: null, draft: null};
  for (const role of Object.keys(models)) {
    check();
    const files = taken(contents, `pairs/${name}/${role}/`);
    const record = {id: `${pairs[name]}/${role}`, revision: null, dtype: "float32", device: "browser"};
    if (files.size) models[role] = await openModel(libraries.ort, record, files);
  }
  return {...models, tokenizer, eos};
}

/* Takes the contents of a folder out of a map, so that they are in memory only while a model is made of them. */
function taken(contents, folder) {
  const found = [...contents].filter(([path]) => path.startsWith(folder));
  found.forEach(([path]) => contents.delete(path));
  return new Map(found.map(([path, content]) => [path.slice(folder.length), content]));
}

async function openLibraries(folder, wasm) {
  const [ort, {Tokenizer}, wasmBinary] = await Promise.all([
    import(new URL("runtime/ort.wasm.bundle.min.mjs", folder)),
    import(new URL("runtime/tokenizers.min.mjs", folder)),
    unpacked(wasm),
  ]).catch((error) => {
    throw new Refused("unloaded", {path: `${folder}runtime`, said: error.message}, {cause: error});
  });
  const half = () => Math.ceil(navigator.hardwareConcurrency / 2); // all cores are slow where another program works
  ort.env.wasm.numThreads = globalThis.crossOriginIsolated ? Math.min(MOST_THREADS, half()) : 1;
  ort.env.wasm.wasmBinary = wasmBinary;
  return {ort, Tokenizer};
}
