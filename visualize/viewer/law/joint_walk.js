/* Decides a layer after a joint test again; with the first layer come the trials of the whole beam
 * (dsbd/tracing/joint_audit.py). The law: docs/algorithm.md, *Joint tests*. */

import {close} from "./trials.js";
import {Walk} from "./walk.js";

export class JointWalk extends Walk {
  *decisions() {
    const {layer, iteration, draws} = this;
    const {trials} = iteration;
    const passed = trials.map((trial) => this.passes(trial)).lastIndexOf(true) + 1;
    const isSearch = this.settings.method === "mjgd" && trials.length > 0;
    const ends = passed > 0 && passed === trials.length && iteration.nodes[trials[passed - 1].node].ends;
    const count = passed + Number(!ends && !isSearch);
    this.isBlockEnd = isSearch && layer.layer === passed;
    if (layer.layer === 1) {
      const sums = this.draftSums();
      for (const [at, trial] of trials.entries()) {
        yield ["trial", trial.node, this.joint(trial, at, passed, sums), at + 1];
      }
    }
    this.accepted = this.trials.filter((trial) => trial.verdict !== "rejected").map((trial) => trial.node);
    const drafted = layer.kind === "draft";
    yield ["width", -1, layer.width === 1 && drafted === this.trials.length > 0];
    const isTaken = Number(layer.layer <= passed);
    const counted = layer.accepted === isTaken && draws.length === 1 - isTaken;
    yield ["outcome", -1, counted && (layer.layer < iteration.layers.length || layer.layer === count)];
    for (const draw of draws) yield ["draw", draw.node, this.draw(draw)];
    yield ["outcome", -1, this.outcome() === layer.outcome];
  }

  passes({joint, acceptance}) {
    return (
      joint !== null && joint.target !== null && acceptance !== null && acceptance >= this.settings.joint_threshold
    );
  }

  /* Every drafted node's sum under the draft model. */
  draftSums() {
    const sums = new Map();
    this.iteration.nodes.forEach((node, place) => {
      if (node.kind === "input") sums.set(place, 0);
      if (node.kind === "drafted") sums.set(place, sums.get(node.parent) + (node.draft_log_prob ?? -Infinity));
    });
    return sums;
  }

  /* One token of the beam: its place, its sums, its verdict; with the last one that no other beam is likelier. */
  joint(trial, at, passed, sums) {
    const {nodes, trials} = this.iteration;
    const {joint} = trial;
    const node = nodes[trial.node];
    const parent = at ? trials[at - 1].node : 0;
    if (!joint || node.kind !== "drafted" || node.parent !== parent || trial.layer !== at + 1) return false;
    if ([trial.residual_prob, trial.c, trial.S, trial.uniform].some((value) => value !== null)) return false;
    if (trial.order !== 0 || !close(trial.draft_prob, node.draft_prob)) return false;
    if (at === trials.length - 1 && !this.isBest(trial.node, sums)) return false;
    const target = trials
      .slice(0, at + 1)
      .reduce((sum, one) => sum + (nodes[one.node].target_log_prob ?? -Infinity), 0);
    if (target === -Infinity ? joint.target !== null : !close(joint.target, target)) return false;
    if (!close(joint.draft, sums.get(trial.node)) || !close(joint.threshold, this.settings.joint_threshold)) {
      return false;
    }
    const ratio = joint.target === null ? 0 : Math.exp(Math.min(joint.target - joint.draft, 0));
    if (!close(trial.acceptance, ratio)) return false;
    return trial.verdict === (at >= passed ? "rejected" : this.passes(trial) ? "accepted" : "carried");
  }

  isBest(place, sums) {
    const {nodes} = this.iteration;
    const depth = Math.max(...nodes.map((node) => (node.kind === "drafted" ? node.column : 0)));
    const ends = nodes.flatMap((node, at) =>
      node.kind === "drafted" && (node.ends || node.column === depth) ? [at] : [],
    );
    return ends.includes(place) && close(sums.get(place), Math.max(...ends.map((end) => sums.get(end))));
  }

  outcome() {
    const found = super.outcome();
    return this.isBlockEnd && found === "passed" ? "block" : found;
  }
}
