/* Reads the shared files of live pages, with progress, and checks them against the list that was written with them. */

import {sha256} from "./digest.js";
import {Refused} from "./refused.js";

const LIST = "files.json";

/* pairs: how the models of each pair are called. paths: all files. read: their contents by path. */
export async function openFiles(folder, check) {
  const {pairs, files} = parsed(await fetched(folder, LIST, check, () => {}));
  async function read(paths, progress = () => {}) {
    const total = paths.reduce((sum, path) => sum + files[path].bytes, 0);
    let loaded = 0;
    const told = (bytes) => progress((loaded += bytes), total);
    const contents = await Promise.all(paths.map((path) => checked(folder, path, files[path], check, told)));
    return new Map(paths.map((path, number) => [path, contents[number]]));
  }
  return {pairs, paths: Object.keys(files), read};
}

async function checked(folder, path, {bytes, sha256: expected}, check, told) {
  const content = await fetched(folder, path, check, told);
  const isSame = content.length === bytes && ((await sha256(content)) || expected) === expected;
  if (!isSame) throw new Refused("altered", {path});
  return content;
}

async function fetched(folder, path, check, told) {
  const parts = [];
  let size = 0;
  for await (const part of streamed(folder, path)) {
    check();
    parts.push(part);
    size += part.length;
    told(part.length);
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

export async function unpacked(content) {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function parsed(content) {
  return JSON.parse(new TextDecoder().decode(content));
}
