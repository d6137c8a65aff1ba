/* One iteration, unpacked from what visualize/scenes/to_json.py sent: nodes, trials, draws, layers and steps,
 * and how every node looks at every step. */

import {columnsOf} from "../base/columns.js";
import {records} from "../base/dom.js";

const FACTS = {block: "beginnings", trial: "trials", draw: "draws"}; // the list that has the record of such a step
const VERIFYING = ["width", "trial", "draw", "layer"];

export class Iteration {
  constructor(packed) {
    const {index, before, last_column: lastColumn, last_row: lastRow, scored_step: scoredStep, seconds, slots} = packed;
    Object.assign(this, {index, before, lastColumn, lastRow, scoredStep, seconds, slots});
    this.number = index + 1; // readers count from 1
    this.nodes = records(packed.nodes).map(wholeNode);
    this.trials = records(packed.trials);
    this.draws = records(packed.draws);
    this.beginnings = records(packed.beginnings);
    const pairs = records(packed.alternatives);
    this.layers = packed.layers.map((layer) => ({
      ...layer,
      alternatives: pairs.filter((pair) => pair.layer === layer.layer),
    }));
    this.steps = records(packed.steps);
    this.beams_before = records(packed.beams_before);
    this.beams_after = records(packed.beams_after);
    this.facts = this.nodes.map(() => []);
    this.steps.forEach((step, at) => {
      if (FACTS[step.phase]) this.facts[step.focus].push({step: at, ...this.factOf(step)});
    });
  }

  get landed() {
    return this.layers.some(({outcome}) => outcome === "landed");
  }

  layer(number) {
    return this.layers.find((entry) => entry.layer === number);
  }

  factOf(step) {
    const [place] = step.about;
    return {[step.phase]: this[FACTS[step.phase]][place], place};
  }

  /* How many drafts of a block are accepted together; null where there is no block. */
  together() {
    return this.beginnings.length ? this.trials.filter((trial) => trial.verdict === "accepted").length : null;
  }

  /* The look of every node at a step; undefined for nodes that are not there yet. */
  looksAt(last) {
    const looks = [];
    for (const step of this.steps.slice(0, last + 1)) {
      for (const [node, state, slots, landed] of step.changes) looks[node] = {state, slots, landed: Boolean(landed)};
    }
    return looks;
  }

  /* Runs of steps that belong together: draft, score, block, each layer, commit. */
  phases() {
    const runs = [];
    this.steps.forEach(({phase, layer}, at) => {
      const verify = VERIFYING.includes(phase);
      const key = verify ? `layer ${layer}` : phase;
      const last = runs[runs.length - 1];
      if (last?.key === key) last.to = at;
      else runs.push({key, phase: verify ? "verify" : phase, layer: verify ? layer : 0, from: at, to: at});
    });
    return runs;
  }

  /* The first step about a layer: the choice of its width, else its draft. */
  stepOfLayer(layer) {
    const width = this.steps.findIndex((step) => step.layer === layer && step.phase === "width");
    return width >= 0 ? width : this.steps.findIndex((step) => step.layer === layer);
  }

  /* Places on the way from an input beam to a node, itself included. */
  pathTo(place) {
    const path = [];
    for (let at = place; at >= 0; at = this.nodes[at].parent) path.unshift(at);
    return path;
  }

  children() {
    const below = this.nodes.map(() => []);
    const roots = [];
    this.nodes.forEach((node, at) => (node.parent < 0 ? roots : below[node.parent]).push(at));
    return {below, roots};
  }
}

/* Fills in the fields that are sent as null, because they follow from others. */
function wholeNode(node) {
  const token = node.token ?? node.label;
  return {
    ...node,
    token,
    label_columns: node.label_columns ?? columnsOf(node.label),
    adds: node.adds ?? token.replaceAll("␣", " "),
    pending: node.pending ?? "",
    completes: node.completes ?? "",
    kept: Boolean(node.kept),
    ends: Boolean(node.ends),
  };
}
