/* The decoding loop: draft, score, verify, commit, as in dsbd/decoder.py. docs/algorithm.md, *One iteration*.
 *
 * It is a generator, so that models that answer at once and models that answer later share it: it yields functions that
 * call a model and takes back what they return, and it yields a record of each iteration. */

import {Forest, drafted} from "./draft.js";
import {RULES, verified} from "./verify.js";
import {logProbsOf} from "../viewer/law.js";

/* settings: resolved. generator: all random numbers come from it. Returns what is left at the end. */
export function* iterations(pair, ids, settings, {generator, now, rules = RULES}) {
  const root = {parent: null, token: ids[ids.length - 1], length: 0};
  const shared = {size: pair.target.vocabulary, eos: pair.eos, generator};
  const target = pair.target.row();
  const draft = settings.draft_depth > 0 ? pair.draft.row() : null;
  const clock = clockOf(now);
  for (const row of draft ? [target, draft] : [target]) yield () => row.prefill(ids);
  const prefill_seconds = clock();
  const state = {beams: [{node: root, log_weight: 0, multiplicity: 1}], finished: [], length: 0, settled: 0};
  for (let index = 0; state.beams.length && state.length < settings.max_new_tokens; index++) {
    const {beams} = state;
    const phases = {};
    clock(); // the time of those who watch does not count
    const depth = Math.min(settings.draft_depth, settings.max_new_tokens - state.length - 1);
    const forest = draft ? yield* drafted(draft, beams, depth, settings, shared) : new Forest(beams);
    phases.draft_seconds = clock();
    const rowOf = yield* scored(target, forest);
    const slots_scored = target.slots;
    const numbers = generator.uniforms(uniformsNeeded(forest.layers.length, settings)).values();
    phases.score_seconds = clock();
    const uniform = () => numbers.next().value;
    const layers = verified({...shared, forest, rowOf, settings, uniform, rules});
    phases.verify_seconds = clock();
    const kept = commit(state, layers, settings, pair.eos);
    for (const row of state.beams.length ? [target, draft] : []) row?.commit(state.beams.map(({node}) => node));
    phases.commit_seconds = clock();
    const step = {index, input_beams: beams, forest, rowOf, layers, kept, slots_scored, phases};
    yield {...step, ...shared, ...state, slots_kept: target.slots};
  }
  return {...state, prefill_seconds, rows: {target, draft}};
}

/* One forward of the target over the input beams and the forest. Returns the law after each node. */
function* scored(row, forest) {
  const nodes = [...forest.beams.map(({node}) => node), ...forest.nodes()];
  const logits = yield () => row.feed(nodes);
  const places = new Map(nodes.map((node, place) => [node, place]));
  const known = new Map();
  return (node) => {
    if (!known.has(node)) known.set(node, logProbsOf(logits[places.get(node)], "target"));
    return known.get(node);
  };
}

/* How many random numbers verification takes at most: one for each trial and draw. */
function uniformsNeeded(depth, {forest, draft_width, max_width}) {
  return (forest === "sampled" ? depth * draft_width : 0) + (depth + 1) * max_width;
}

/* Finishes the beams that ended and keeps those of the last layer. Returns the nodes whose slots stay: the ancestors of
 * the beams that did not settle before. Settled nodes are those that all beams share. */
function commit(state, layers, {input_beams}, eos) {
  state.length += layers.length;
  const ended = layers.flatMap(({beams}) => beams.filter(({node}) => eos.has(node.token)));
  state.finished = [...state.finished, ...ended];
  state.beams = keepBest(layers[layers.length - 1].living, input_beams);
  const kept = new Set();
  for (const {node} of state.beams) {
    for (let one = node.parent; one && one.length >= state.settled && !kept.has(one); one = one.parent) kept.add(one);
  }
  const order = [...kept].sort((one, other) => one.length - other.length);
  const isShared = ({length}) => order.filter((one) => one.length === length).length === 1;
  const fork = order.findIndex((node) => !isShared(node));
  state.settled += fork < 0 ? order.length : fork;
  return order;
}

/* Gives the seconds since it was asked last. */
function clockOf(now) {
  let before = now();
  return () => {
    const since = now() - before;
    before += since;
    return Math.max(since, 0) / 1000;
  };
}

/* ---- beams as outputs: which are kept, and which is best; dsbd/law/beams.py ------------------------------------- */

/* The beams of largest log-weight, in their order; all where `count` is null. */
export function keepBest(beams, count) {
  if (count === null || beams.length <= count) return beams;
  const order = [...beams].sort((one, other) => other.log_weight - one.log_weight).slice(0, count);
  return beams.filter((beam) => order.includes(beam));
}

/* All hypotheses, best first: finished ones, then the beams that are alive. */
export function ranked({finished, beams}, {length_penalty}) {
  const scoredAs = (isFinished) => (beam) => {
    const score = beam.log_weight / Math.max(beam.node.length, 1) ** length_penalty;
    return {...beam, score, finished: isFinished};
  };
  const all = [...finished.map(scoredAs(true)), ...beams.map(scoredAs(false))];
  return all.sort((one, other) => other.score - one.score);
}

/* The tokens from the prompt to a node. */
export function idsOf(node) {
  const ids = [];
  for (let one = node; one.parent; one = one.parent) ids.push(one.token);
  return ids.reverse();
}
