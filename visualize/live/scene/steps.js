/* Lists the steps of an iteration in the order they happened, without their sentences: twin of
 * visualize/scenes/steps.py. */

import {YIELDED} from "../../viewer/base/marks.js";

/* The steps, the place of the step that scores and of those that choose the width of each layer, and the last look of
 * each node: its state, how often it counts, whether it landed. places: of the nodes, by id. */
export function stepsOf(iteration, places) {
  const {input_beams, nodes, trials, draws, beginnings = [], layers} = iteration;
  const looks = new Map(input_beams.map(({node, multiplicity}) => [node, ["input", multiplicity, 0]]));
  const steps = [];

  const add = (phase, layer, changed, about = [], focus = -1) => {
    const changes = changed.map((node) => [places.get(node), ...looks.get(node)]);
    steps.push({phase, layer, focus, about, changes});
  };
  const tell = (phase, at, layer, node) => add(phase, layer, [node], [at], places.get(node));

  /* A beam that was yielded once stays so; a guess that failed, too, where the others were not needed. */
  const look = (node, state, landed) => {
    const [before, slots, hasLanded] = looks.get(node) ?? [state, 0, 0];
    const stays = YIELDED.includes(before) || (before === "rejected" && state === "unneeded");
    const count = slots + Number(YIELDED.includes(state));
    looks.set(node, [stays ? before : state, count, hasLanded || Number(landed)]);
  };

  /* ---- draft, score -------------------------------------------------------------------------- */

  for (let layer = 1; layer <= iteration.draft_depth; layer++) {
    const members = nodes.filter((node) => node.layer === layer && node.kind !== "drawn");
    if (!members.length) continue;
    for (const {id, kind} of members) looks.set(id, [kind, 0, 0]);
    const cover = members.filter(({kind}) => kind === "cover").length;
    const drafts = trials.filter((trial) => trial.layer === layer).length;
    const shown = steps.length ? members.map(({id}) => id) : [...looks.keys()];
    add("draft", layer, shown, [drafts, members.length - (drafts ? cover : 0), cover]);
  }
  const scored = steps.length;
  const forest = nodes.filter(({kind}) => kind !== "drawn").length;
  add("score", 0, scored ? [] : [...looks.keys()], [forest]);

  /* ---- verify: the tested beginnings of a block, longest first; then the layers --------------- */

  for (let at = beginnings.length - 1; at >= 0 && beginnings[at].uniform !== null; at--) {
    tell("block", at, 0, beginnings[at].node);
  }
  const widths = layers.map(({layer}) => {
    const place = steps.length;
    add("width", layer, [], [0]);
    trials.forEach((trial, at) => {
      if (trial.layer !== layer) return;
      look(trial.node, trial.verdict, false);
      tell("trial", at, layer, trial.node);
    });
    draws.forEach((draw, at) => {
      if (draw.layer !== layer) return;
      look(draw.node, draw.kind, draw.landed);
      tell("draw", at, layer, draw.node);
    });
    add("layer", layer, []);
    return place;
  });
  add("commit", 0, []);
  return {steps, scored, widths, looks};
}
