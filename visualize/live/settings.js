/* The settings of a decode in the browser: checked, and completed by what the method implies. settings.json is the
 * table of dsbd/settings.py, whose implied_by has what a method implies. */

import {filled} from "../viewer/dom.js";
import settings from "./settings.json" with {type: "json"};

const NEED_PYTHON = ["specinfer", "mjsd", "mjgd"]; // methods
/* Fields that need Python, with the values that all methods here have. */
const ELSEWHERE = {branching: null, depth_costs: null, joint_threshold: 0.5, block: 2, lossless: true};
const BEST = {replacement: false, temperature: 0, top_p: 1};
/* What each method implies besides its width. */
const IMPLIED = {
  beam_search: BEST,
  speculative_beam_search: {...BEST, landing: true},
  speculative: {forest: "sampled"},
  greedy: {temperature: 0, top_k: 1, top_p: 1},
};
/* What a method does not read has these values, or else its default. */
const UNDRAFTED = {draft_depth: 0, draft_width: 1, width_threshold: 1, landing: false, forest: "coupled"};
const PLAIN = {...UNDRAFTED, early_stopping: null};

/* The fields that a browser reads. */
export const FIELDS = Object.fromEntries(Object.entries(settings).filter(([name]) => !(name in ELSEWHERE)));

/* The choices of a field, which for a switch are true, false and what else it takes; nothing is measured here. */
export const choicesOf = (name) => {
  const {kind, choices, also} = FIELDS[name];
  return kind === "switch" ? [true, false, ...also] : [...also, ...choices];
};

/** The settings that the decoder runs: fields that the method does not read get the values that it implies. Throws
 * Refused. @param {any} wishes the settings of a form or of a recorded trace */
export function resolved(wishes) {
  /** @type {any} */ const values = {};
  for (const [name, field] of Object.entries(FIELDS)) {
    values[name] = wishes[name] === undefined ? field.standard : wishes[name];
    if (values[name] !== field.standard) check(name, values[name], field);
  }
  if (wishes.depth_costs) {
    throw new Error("depth_costs is given; a decode in the browser always drafts draft_depth layers, so leave it out");
  }
  const {method, min_width: low, max_width: high} = values;
  if (high !== null && high < low) {
    throw new Refused("widths", {higher: "max_width", lower: "min_width", high, low});
  }
  const unread = Object.keys(FIELDS).filter((name) => !FIELDS[name].methods.includes(method));
  const implicit = unread.map((name) => [name, name in PLAIN ? PLAIN[name] : FIELDS[name].standard]);
  return {...values, ...Object.fromEntries(implicit), ...ELSEWHERE, ...implied(values)};
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

function implied({method, num_beams, ...values}) {
  if (method === "dsbd") {
    const {forest, draft_width, landing, input_beams, replacement, min_width} = values;
    const isCoupled = forest === "coupled";
    const beams = Math.max(isCoupled ? FIELDS.num_beams.standard : draft_width, min_width);
    const max_width = values.max_width ?? Math.min(beams, FIELDS.max_width.high);
    const isPaper = !landing || input_beams !== null || !replacement || min_width < max_width;
    if (isCoupled && (min_width < max_width || !landing || input_beams !== null)) {
      throw new Error("forest is coupled: make min_width and max_width equal, leave landing on and input_beams empty");
    }
    return {max_width, forest: forest ?? (isPaper ? "sampled" : "coupled")};
  }
  const width = FIELDS.num_beams.methods.includes(method) ? num_beams : 1;
  return {min_width: width, max_width: width, ...IMPLIED[method]};
}

/* Why something cannot be decoded: the key of a sentence of the page, and its values, which are numbers, names of
 * settings or texts. */
export class Refused extends Error {
  constructor(key, values = {}, options = undefined) {
    super(`${key} ${JSON.stringify(values)}`, options);
    Object.assign(this, {key, values});
  }
}

/* The sentence of an error. words: the page's, by key; labelOf: returns a setting's label, or the text as it is. */
export function sentenceOf({key, values, message}, {words, labelOf, language}) {
  if (!key) return message.replace(/\.?$/, ".");
  const digits = {maximumFractionDigits: 6};
  const written = (value) => (typeof value === "number" ? value.toLocaleString(language, digits) : labelOf(value));
  const texts = Object.entries(values).map(([name, value]) => [name, written(value)]);
  return filled(words[`refused.${key}`], Object.fromEntries(texts));
}
