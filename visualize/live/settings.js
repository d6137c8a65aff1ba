/* The settings of a decode in the browser: checked, and completed by what the method implies. settings.json is the
 * table of dsbd/settings.py; `implied` has what each method here implies for a field that it does not read. */

import {filled} from "../viewer/dom.js";
import settings from "./settings.json" with {type: "json"};

const NEED_PYTHON = ["specinfer", "mjsd", "mjgd"]; // methods
const ELSEWHERE = ["branching", "depth_costs", "joint_threshold", "block"]; // fields that need Python

/* The fields that a browser reads. */
export const FIELDS = Object.fromEntries(Object.entries(settings).filter(([name]) => !ELSEWHERE.includes(name)));

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
  const unread = Object.entries(settings).filter(([, {implied}]) => method in implied);
  const implicit = Object.fromEntries(unread.map(([name, {implied}]) => [name, implied[method]]));
  return {...values, depth_costs: null, lossless: true, ...implicit, ...computed(values)};
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

/* What follows from other settings. */
function computed({method, num_beams, ...values}) {
  if (FIELDS.num_beams.methods.includes(method)) return {min_width: num_beams, max_width: num_beams};
  if (method !== "dsbd") return {};
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
