/* The digest of a trace: the SHA-256 of what Python's json writes, sorted, compact and in ASCII. JavaScript has one
 * kind of number, so the names of fields tell which whole numbers Python writes with a fraction. */

import {FRACTIONS} from "./settings.js";

const IS_FRACTION = new Set([
  ...FRACTIONS,
  ...["log_weight", "score", "target_log_prob", "draft_log_prob", "target_prob", "draft_prob", "residual_prob"],
  ...["c", "S", "acceptance", "uniform", "probability", "rest", "cdf_low", "cdf_high", "forest_mass", "width_uniform"],
  ...["chain_c", "chain_S", "acceptance_chain", "accepted_distribution"],
  ...["draft_seconds", "score_seconds", "verify_seconds", "commit_seconds"],
]);

/* Empty where the browser makes no digests: on a page that came over the network without encryption. */
export async function digestOf(trace) {
  const hash = await sha256(new TextEncoder().encode(canonical(trace)));
  return hash && `sha256:${hash}`;
}

/* In hex; empty where the browser makes none. */
export async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return "";
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/* The JSON text that Python makes of plain data. `name` is the field that holds the value. Statistics are of any kind:
 * a whole number stays whole there. */
export function canonical(value, name = "") {
  if (typeof value === "number") return numberOf(value, IS_FRACTION.has(name));
  if (typeof value === "string") return JSON.stringify(value).replace(/[\x7f-\uffff]/g, escaped);
  if (value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one, name)).join(",")}]`;
  const within = (key) => canonical(value[key], name === "stats" ? "" : key);
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${canonical(key)}:${within(key)}`).join(",")}}`;
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/* A number as Python writes it: 1.0, 1e-05, 1e+16; whole numbers without a fraction unless their field has one. */
function numberOf(number, isFraction) {
  const [digits, exponent] = number.toExponential().split("e");
  if (Number.isInteger(number) && !isFraction) return String(number);
  if (number === 0) return "0.0"; // JSON.stringify forgets the sign, too
  if (exponent < -4 || exponent >= 16) {
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return Number.isInteger(number) ? `${number}.0` : String(number);
}
