/* What a trace must keep to before it is drawn: its size, and that parents come before their children and everything
 * that is named exists, so that no walk goes round in a circle. Twin of dsbd/tracing/reading.py; whether decisions
 * follow from each other is for verify-trace. */

import {PROMPT_END} from "./tokens.js";

const FORMAT = "dsbd-trace/2";
const GZIP = [0x1f, 0x8b];
const MOST_BYTES = 2 ** 28;
const MOST_VALUES = 12_000_000;
const STARTS = new Set([..."[{,"].map((mark) => mark.charCodeAt(0))); // of values
const LARGEST = 1e300;
const [MOST_LAYERS, MOST_BEAMS] = [33, 64];

/* The plain data of a trace file, packed or not. */
export async function readTrace(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = GZIP.every((byte, at) => head[at] === byte);
  const reader = (isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream()).getReader();
  const decoder = new TextDecoder("utf-8", {fatal: true});
  let [text, bytes, values] = ["", 0, 0];
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes += next.value.length;
    for (const byte of next.value) values += Number(STARTS.has(byte));
    const [limit, unit] = bytes > MOST_BYTES ? [MOST_BYTES, "bytes"] : [MOST_VALUES, "values"];
    if (bytes > MOST_BYTES || values >= MOST_VALUES) {
      reader.cancel();
      throw new Error(`the trace has more than ${limit.toLocaleString("en")} ${unit}; record a smaller one`);
    }
    text += decoder.decode(next.value, {stream: true});
  }
  return finite(JSON.parse(text + decoder.decode()));
}

function finite(data) {
  for (const waiting = [data]; waiting.length;) {
    for (const value of Object.values(waiting.pop() ?? {})) {
      if (Math.abs(value) > LARGEST) damaged(`number ${value} is larger than ${LARGEST}`);
      if (value && typeof value === "object") waiting.push(value);
    }
  }
  return data;
}

function damaged(what) {
  throw new Error(`damaged trace: ${what}; record it again`);
}

/* Refuses a trace of another format, and a width that nothing has. */
export function checkHead({format = FORMAT, settings}) {
  if (format !== FORMAT) throw new Error(`format is ${format}; the viewer draws traces of the format ${FORMAT}`);
  if (settings.max_width > MOST_BEAMS) damaged(`max_width is ${settings.max_width}, above ${MOST_BEAMS}`);
}

/* Refuses nodes, trials, draws and layers that do not fit each other. known: the nodes of earlier iterations, by id. */
export function checkIteration({index, draft_depth, nodes, layers, trials, draws, ...record}, known) {
  const where = `iteration ${index + 1}`;
  const most = Math.max(draft_depth + 1, layers.length);
  if (most > MOST_LAYERS) damaged(`${where} has ${most} layers, above ${MOST_LAYERS}`);
  const depth = new Map(record.input_beams.map(({node}) => [node, 0]));
  const exists = (node) => depth.get(node) > 0 || known.has(node);
  checkNamed(record.input_beams, where, exists);
  for (const {id, parent, layer} of nodes) {
    const above = depth.get(parent);
    if (id === PROMPT_END || exists(id)) damaged(`${where}: node ${id} is listed twice`);
    if (above === undefined) {
      damaged(`${where}: node ${id} has parent ${parent}, which is no node or input beam before it`);
    }
    if (layer !== above + 1) damaged(`${where}: node ${id} names layer ${layer}, but its parent is in ${above}`);
    depth.set(id, layer);
  }
  for (const {node, layer, joint} of [...trials, ...draws]) {
    if (depth.get(node) !== layer) {
      damaged(`${where}: a trial or draw of layer ${layer} names node ${node}, which is not in it`);
    }
    if (layer > layers.length && !joint) {
      damaged(`${where}: a trial or draw names layer ${layer} of ${layers.length}`);
    }
  }
  layers.forEach(({layer, alive, beams, finished, alternatives}, at) => {
    const which = `${where}, layer ${at + 1}`;
    if (layer !== at + 1) damaged(`${which} is called layer ${layer}`);
    const candidates = alternatives.flatMap(({parent, node}) => [parent, node ?? parent]);
    checkNamed([...alive, ...beams, ...finished, ...candidates], which, exists);
    const other = alive.find((beam) => depth.get(beam) !== at);
    if (other !== undefined) damaged(`${which}: beam ${other} is alive, but is not of the layer above`);
  });
  checkNamed([...record.output_beams, ...record.kept.nodes], where, exists);
}

/* Refuses a node that does not exist. named: ids, or records with one. */
export function checkNamed(named, where, exists) {
  for (const one of named) {
    const node = one?.node ?? one;
    if (node !== PROMPT_END && !exists(node)) damaged(`${where} refers to node ${node}, which does not exist`);
  }
}
