/* The settings of a decode in the browser: checked, and written as settings of the one decoder. The names, ranges and
 * defaults are those of dsbd/settings.py; what a method implies is in dsbd/methods.py. */

import {Refused} from "./refused.js";

const wholeNumber = (standard, low, high, also) => ({standard, low, high, also, kind: "whole"});
const fraction = (standard, low, high) => ({standard, low, high, kind: "number"});
const oneOf = (...choices) => ({standard: choices[0], choices});

const METHODS = [
  "dsbd",
  "beam_sampling",
  "beam_search",
  "speculative_beam_search",
  "speculative",
  "sampling",
  "greedy",
];
const WIDEST = 64;

export const FIELDS = {
  method: oneOf(...METHODS),
  max_new_tokens: wholeNumber(64, 1, 32768),
  draft_depth: wholeNumber(4, 0, 32),
  draft_width: wholeNumber(6, 1, 256),
  min_width: wholeNumber(1, 1, WIDEST),
  max_width: wholeNumber(null, 1, WIDEST, null),
  width_threshold: fraction(0.7, 0, 1),
  replacement: oneOf(true, false),
  input_beams: wholeNumber(null, 1, WIDEST, null),
  landing: oneOf(true, false),
  cover_width: wholeNumber(0, 0, 256),
  forest: oneOf("sampled", "likely"),
  num_beams: wholeNumber(4, 1, WIDEST),
  temperature: fraction(1, 0, 100),
  top_k: wholeNumber(50, 0, 1_000_000),
  top_p: fraction(1, 0, 1),
  length_penalty: fraction(1, -10, 10),
  seed: wholeNumber(0, 0, Number.MAX_SAFE_INTEGER),
  continuation: fraction(0.7, 0, 1),
};

/* Fields of what does not run here, with the values that all other methods have. */
const ELSEWHERE = {
  branching: null,
  depth_costs: null,
  joint_threshold: 0.5,
  block: 2,
  lossless: true,
};

/* The settings whose numbers are fractions in Python. */
export const FRACTIONS = [...Object.keys(FIELDS).filter((name) => FIELDS[name].kind === "number"), "joint_threshold"];

/* What a user asks for as settings that the decoder runs: fields that the method does not read get the values that it
 * implies. Throws Refused for what a form can ask for, and a plain Error for what only a wrong page can. */
export function resolved(asked) {
  for (const name of Object.keys(asked)) {
    if (!(name in FIELDS || name in ELSEWHERE)) throw new Error(`unknown setting ${shown(name)}; leave it out`);
  }
  const found = {};
  for (const [name, field] of Object.entries(FIELDS)) {
    found[name] = asked[name] === undefined ? field.standard : asked[name];
    check(name, found[name], field);
  }
  if (asked.depth_costs) {
    throw new Error("depth_costs is given; a decode in the browser always drafts draft_depth layers, so leave it out");
  }
  if (found.max_width !== null && found.max_width < found.min_width) {
    const [high, low] = [found.max_width, found.min_width];
    throw new Refused("widths", {higher: "max_width", lower: "min_width", high, low});
  }
  return {...found, ...ELSEWHERE, ...implied(found)};
}

const shown = (value) => String(JSON.stringify(value)).slice(0, 60);

function check(name, value, {kind, low, high, also, choices}) {
  if (value === also) return;
  if (value === "auto") throw new Refused("auto", {name});
  if (choices) {
    if (!choices.includes(value)) throw new Error(`${name} is ${shown(value)}; choose one of ${choices.join(", ")}`);
    return;
  }
  if (!Number.isFinite(value)) throw new Refused("unread", {name});
  const isAllowed = kind === "number" || Number.isSafeInteger(value);
  if (isAllowed && low <= value && value <= high && !(name === "top_p" && value === 0)) return;
  throw new Refused(name === "top_p" ? "above" : kind, {name, value, low, high});
}

function implied(asked) {
  const {method, num_beams, draft_depth, draft_width, replacement} = asked;
  const best = {replacement: false, temperature: 0, top_p: 1};
  switch (method) {
    case "dsbd": {
      const beams = asked.forest === "likely" ? num_beams : draft_width;
      const max_width = asked.max_width ?? Math.min(Math.max(beams, asked.min_width), WIDEST);
      return asked.forest === "likely" ? {max_width, landing: true, cover_width: 0} : {max_width};
    }
    case "speculative":
      return {...fixedWidth(1), draft_depth};
    case "beam_sampling":
      return {...fixedWidth(num_beams), replacement};
    case "beam_search":
      return {...fixedWidth(num_beams), ...best};
    case "speculative_beam_search":
      return {...fixedWidth(num_beams), ...best, draft_depth, draft_width, forest: "likely", landing: true};
    case "sampling":
      return fixedWidth(1);
    case "greedy":
      return {...fixedWidth(1), temperature: 0, top_k: 1, top_p: 1};
  }
}

/* Every layer has this width, and nothing is drafted. */
const fixedWidth = (width) => ({
  draft_depth: 0,
  draft_width: 1,
  min_width: width,
  max_width: width,
  width_threshold: 1,
  replacement: true,
  input_beams: null,
  landing: false,
  cover_width: 0,
  forest: "sampled",
});
