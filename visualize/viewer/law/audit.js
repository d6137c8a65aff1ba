/* The re-check: decides every verdict, width, draw and outcome again from the recorded numbers, in the browser.
 * dsbd/tracing/audit.py does the same and more, and a packed scene carries its report.
 * The law: docs/algorithm.md, *One iteration*. */

import {Block} from "./block.js";
import {Walk} from "./walk.js";

/* {checks, failure}: failure names the first decision that does not follow, as {layer, what, place}, or is null. */
export function recheck(iteration, settings) {
  let checks = 0;
  if (settings.lossless === false) return {checks, failure: null}; // only the audit decides joint tests again
  const block = settings.verification === "block" ? new Block(iteration) : null;
  for (const [layer, place, follows] of block ? block.decisions() : []) {
    checks++;
    if (!follows) return {checks, failure: {layer, what: "trial", place}};
  }
  for (const layer of iteration.layers) {
    for (const [what, place, follows] of new Walk(iteration, layer, settings, block).decisions()) {
      checks++;
      if (!follows) return {checks, failure: {layer: layer.layer, what, place}};
    }
  }
  return {checks, failure: null};
}

/* The conclusion for a whole trace: {checks, failure, told}. reports: one for each iteration; `failure` is their first,
 * with its place `it`. `told` is the failure that only the audit found when the scene was packed. */
export function conclusion(reports, evidence) {
  const it = reports.findIndex((report) => report.failure);
  const checks = reports.reduce((sum, report) => sum + report.checks, 0);
  if (it >= 0) return {checks, failure: {it, ...reports[it].failure}, told: null};
  if (!evidence) return {checks, failure: null, told: null};
  return {checks: Math.max(checks, evidence.checks), failure: null, told: evidence.passed ? null : evidence.failure};
}
