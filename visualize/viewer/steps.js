/* The steps of an iteration in the order they happened: draft (one for each layer), score, then for each layer its
 * width, its trials, its draws and its outcome, and at last the commit. */

import {YIELDED} from "./marks.js";

export const FACTS = {trial: "trials", draw: "draws"}; // the list that has the record of such a step
export const VERIFYING = ["width", "trial", "draw", "layer"];

/* The steps, the place of the step that scores and of those that choose the width of each layer, and the last look of
 * each node: {state, slots, landed}, slots is how often it counts. places: of the nodes, by id. A step: {phase, layer,
 * focus, about, changes}; focus is the place of a node or -1, about has the numbers of the step. */
export function stepsOf(record, places, {branching}) {
  const {input_beams, nodes, trials, draws, layers, draft_depth} = record;
  const looks = new Map();
  for (const {node, multiplicity} of input_beams) looks.set(node, {state: "input", slots: multiplicity, landed: false});
  const steps = [];

  const add = (phase, layer, changed, about = [], focus = -1) => {
    const changes = changed.map((node) => ({node: places.get(node), ...looks.get(node)}));
    steps.push({phase, layer, focus, about, changes});
  };

  /* A beam that was yielded once stays so; a guess that failed, too, where the others were not needed. */
  const tell = (phase, at, {layer, node}, state, lands) => {
    const {state: before, slots, landed} = looks.get(node) ?? {state, slots: 0, landed: false};
    const stays = YIELDED.includes(before) || (before === "rejected" && state === "unneeded");
    const count = slots + Number(YIELDED.includes(state));
    looks.set(node, {state: stays ? before : state, slots: count, landed: landed || lands});
    add(phase, layer, [node], [at], places.get(node));
  };

  /* ---- draft, score --------------------------------------------------------------------------------------------- */

  for (let layer = 1; layer <= draft_depth; layer++) {
    const members = nodes.filter((node) => node.layer === layer && node.kind !== "drawn");
    if (!members.length) continue;
    for (const {id, kind} of members) looks.set(id, {state: kind, slots: 0, landed: false});
    const cover = members.filter(({kind}) => kind === "cover").length;
    const tried = trials.filter((trial) => trial.layer === layer && !trial.joint).length;
    const drafts = branching ? branching[layer - 1] : tried;
    const shown = steps.length ? members.map(({id}) => id) : [...looks.keys()];
    add("draft", layer, shown, [drafts, members.length - (drafts ? cover : 0), cover]);
  }
  const scored = steps.length;
  const forest = nodes.filter(({kind}) => kind !== "drawn").length;
  const tested = trials.filter(({joint}) => joint).length;
  add("score", 0, scored ? [] : [...looks.keys()], tested ? [tested, 1] : [forest]);

  /* ---- verify, commit ------------------------------------------------------------------------------------------- */

  /* Drafts whose parent is not alive, in a forest drawn per parent: they have no trial. */
  const ignoredIn = ({layer, alive}) => {
    const members = branching ? nodes.filter((node) => node.layer === layer && node.kind === "drafted") : [];
    const ignored = members.filter(({parent}) => !alive.includes(parent)).map(({id}) => id);
    for (const id of ignored) looks.set(id, {state: "orphaned", slots: 0, landed: false});
    return ignored;
  };

  const widths = layers.map((one) => {
    const place = steps.length;
    const {layer} = one;
    const ignored = ignoredIn(one);
    add("width", layer, ignored, [ignored.length]);
    trials.forEach((trial, at) => {
      // what a joint test tried below the last layer belongs to the last one
      if (Math.min(trial.layer, layers.length) === layer) tell("trial", at, trial, trial.verdict, false);
    });
    draws.forEach((draw, at) => {
      if (draw.layer === layer) tell("draw", at, draw, draw.kind, draw.landed);
    });
    add("layer", layer, []);
    return place;
  });
  add("commit", 0, []);
  return {steps, scored, widths, looks};
}
