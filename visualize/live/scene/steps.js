/* Lists the steps of an iteration in the order they happened, as visualize/scenes/steps.py does: draft, score, the
 * tested beginnings of a block, then for each layer its width, its trials, its draws and its outcome, and the commit.
 * The viewer writes their sentences. */

import {YIELDED} from "../../viewer/base/marks.js";

/* The steps as rows [phase, layer, place of the node in focus, what it is about, changes], the place of the step that
 * chooses the width of each layer, and the last look of each node: state, how often it counts, whether it landed. */
export function stepsOf(iteration, places, settings) {
  const {input_beams, nodes, trials, draws, beginnings, layers} = iteration;
  const looks = new Map(input_beams.map(({node, multiplicity}) => [node, ["input", multiplicity, 0]]));
  const steps = [];
  const widthSteps = [];

  const add = (phase, layer, changed, about = [], focus = -1) => {
    steps.push([phase, layer, focus, about, changed.map((node) => [places.get(node), ...looks.get(node)])]);
  };
  const tell = (phase, at, layer, node) => add(phase, layer, [node], [at], places.get(node));

  /* A beam that was yielded once stays so; a guess that failed, too, where the others were not needed. */
  const look = (node, state, landed) => {
    const [before, slots, hasLanded] = looks.get(node) ?? [state, 0, 0];
    const stays = YIELDED.includes(before) || (before === "rejected" && state === "unneeded");
    looks.set(node, [stays ? before : state, slots + Number(YIELDED.includes(state)), hasLanded || Number(landed)]);
  };

  const draft = (layer) => {
    const members = nodes.filter((node) => node.layer === layer && node.kind !== "drawn");
    if (!members.length) return;
    for (const {id, kind} of members) looks.set(id, [kind, 0, 0]);
    const cover = members.filter(({kind}) => kind === "cover").length;
    const tried = trials.filter((trial) => trial.layer === layer && !trial.joint).length;
    const drafts = settings?.branching ? settings.branching[layer - 1] : tried;
    const ids = members.map(({id}) => id);
    const about = [drafts, members.length - (drafts ? cover : 0), cover];
    add("draft", layer, steps.length ? ids : [...looks.keys()], about);
  };

  const score = () => {
    const tested = trials.filter(({joint}) => joint).length;
    const about = tested ? [tested, 1] : [nodes.filter(({kind}) => kind !== "drawn").length];
    add("score", 0, steps.length ? [] : [...looks.keys()], about);
  };

  /* The tested beginnings of a block, longest first. */
  const block = () => {
    for (let at = beginnings.length - 1; at >= 0 && beginnings[at].uniform !== null; at--) {
      tell("block", at, 0, beginnings[at].node);
    }
  };

  const verify = ({layer, alive}) => {
    // In a forest drawn per parent, drafts whose parent is not alive have no trial.
    const isIgnored = (node) => node.layer === layer && node.kind === "drafted" && !alive.includes(node.parent);
    const ignored = settings?.branching ? nodes.filter(isIgnored).map(({id}) => id) : [];
    for (const id of ignored) looks.set(id, ["orphaned", 0, 0]);
    widthSteps.push(steps.length);
    add("width", layer, ignored, [ignored.length]);
    trials.forEach((trial, at) => {
      // What a joint test tried below the last layer belongs to the last one.
      if (Math.min(trial.layer, layers.length) !== layer) return;
      look(trial.node, trial.verdict, false);
      tell("trial", at, trial.layer, trial.node);
    });
    draws.forEach((draw, at) => {
      if (draw.layer !== layer) return;
      look(draw.node, draw.kind, draw.landed);
      tell("draw", at, layer, draw.node);
    });
    add("layer", layer, []);
  };

  for (let layer = 1; layer <= iteration.draft_depth; layer++) draft(layer);
  const scoredStep = steps.length;
  score();
  block();
  layers.forEach(verify);
  add("commit", 0, []);
  return {steps, scoredStep, widthSteps, looks};
}

/* P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ... Greedy draws without replacement are
 * certain, so they tell which of them land. */
export function chancesOf({forest_mass, accepted_distribution, draws_planned, width, layer}, settings, draws) {
  if (forest_mass === null) {
    const chances = [];
    let tail = 0;
    for (let k = draws_planned; k >= 1; k--) {
      tail += accepted_distribution[k] ?? 0;
      chances.unshift(Math.min(1, tail));
    }
    return chances;
  }
  const isCertain = settings?.temperature === 0 && !settings.replacement;
  const own = draws.filter((draw) => draw.layer === layer);
  const landing = own.findIndex(({landed}) => !landed);
  const sure = landing < 0 ? own.length : landing;
  return Array.from({length: settings?.max_width ?? width}, (_, at) =>
    isCertain ? Number(at < sure) : forest_mass ** (at + 1),
  );
}
