/* The settings of a decode in the browser: checked, and written as settings of the one decoder. settings.json is the
 * table of dsbd/settings.py, whose implied_by says what a method implies. */

import {filled} from "../viewer/dom.js";
import settings from "./settings.json" with {type: "json"};

const NEED_PYTHON = ["specinfer", "mjsd", "mjgd"]; // methods
/* Fields of what does not run here, with the values that all methods here have. */
const ELSEWHERE = {branching: null, depth_costs: null, joint_threshold: 0.5, block: 2, lossless: true};
const BEST = {replacement: false, temperature: 0, top_p: 1};
/* What the methods imply besides their width, for fields that they do not read; dsbd implies little. */
const IMPLIED = {
  beam_search: BEST,
  speculative_beam_search: {...BEST, landing: true},
  speculative: {forest: "sampled"},
  greedy: {temperature: 0, top_k: 1, top_p: 1},
};
/* What a method does not read has these values, or else its default. */
const PLAIN = {
  draft_depth: 0,
  draft_width: 1,
  width_threshold: 1,
  landing: false,
  early_stopping: null,
  forest: "coupled",
};

/* The fields that a browser reads. */
export const FIELDS = Object.fromEntries(Object.entries(settings).filter(([name]) => !(name in ELSEWHERE)));

/* The choices of a field, which for a switch are true, false and what else it takes; nothing is measured here. */
export const choicesOf = (name) => {
  const {kind, choices, also} = FIELDS[name];
  return kind === "switch" ? [true, false, ...also] : [...also, ...choices];
};

/* What a form or a recorded trace asks for as settings that the decoder runs: fields that the method does not read get
 * the values that it implies. Throws Refused. */
export function resolved(asked) {
  const found = {};
  for (const [name, field] of Object.entries(FIELDS)) {
    found[name] = asked[name] === undefined ? field.standard : asked[name];
    if (found[name] !== field.standard) check(name, found[name], field);
  }
  if (asked.depth_costs) {
    throw new Error("depth_costs is given; a decode in the browser always drafts draft_depth layers, so leave it out");
  }
  if (found.max_width !== null && found.max_width < found.min_width) {
    const [high, low] = [found.max_width, found.min_width];
    throw new Refused("widths", {higher: "max_width", lower: "min_width", high, low});
  }
  const unread = Object.keys(FIELDS).filter((name) => !FIELDS[name].methods.includes(found.method));
  const implicit = unread.map((name) => [name, name in PLAIN ? PLAIN[name] : FIELDS[name].standard]);
  return {...found, ...Object.fromEntries(implicit), ...ELSEWHERE, ...implied(found)};
}

function check(name, value, {kind, low, high, above}) {
  if (value === "auto") throw new Refused("auto", {name});
  if (NEED_PYTHON.includes(value)) throw new Refused("elsewhere", {name, value});
  if (kind === "choice" || kind === "switch") return; // a form offers no other
  if (!Number.isFinite(value)) throw new Refused("unread", {name});
  const isAllowed = kind === "number" || Number.isSafeInteger(value);
  if (isAllowed && low <= value && value <= high && !(above && value === low)) return;
  throw new Refused(above ? "above" : kind, {name, value, low, high});
}

function implied({method, ...asked}) {
  if (method === "dsbd") {
    const isCoupled = asked.forest === "coupled";
    const beams = Math.max(isCoupled ? FIELDS.num_beams.standard : asked.draft_width, asked.min_width);
    const max_width = asked.max_width ?? Math.min(beams, FIELDS.max_width.high);
    const {landing, input_beams, replacement, min_width} = asked;
    const isPaper = !landing || input_beams !== null || !replacement || min_width < max_width;
    if (isCoupled && (min_width < max_width || !landing || input_beams !== null)) {
      throw new Error("forest is coupled: make min_width and max_width equal, leave landing on and input_beams empty");
    }
    return {max_width, forest: asked.forest ?? (isPaper ? "sampled" : "coupled")};
  }
  const width = FIELDS.num_beams.methods.includes(method) ? asked.num_beams : 1;
  return {min_width: width, max_width: width, ...IMPLIED[method]};
}

/* What cannot be decoded, as the key of a sentence and its values, which are numbers, names of settings, or texts: the
 * page has the sentences, in its own language. */
export class Refused extends Error {
  constructor(key, values = {}, options = undefined) {
    super(`${key} ${JSON.stringify(values)}`, options);
    Object.assign(this, {key, values});
  }
}

/* The sentence of an error. words: the page's, by key. called: returns a setting's label, or else the text as it is. */
export function sentenceOf({key, values, message}, {words, called, language}) {
  if (!key) return message.replace(/\.?$/, ".");
  const digits = {maximumFractionDigits: 6};
  const written = (value) => (typeof value === "number" ? value.toLocaleString(language, digits) : called(value));
  const texts = Object.entries(values).map(([name, value]) => [name, written(value)]);
  return filled(words[`refused.${key}`], Object.fromEntries(texts));
}
