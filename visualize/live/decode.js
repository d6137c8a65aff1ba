/* The decoding loop: draft, score, verify, commit, as in dsbd/decoder.py. docs/algorithm.md, *One iteration*.
 *
 * It is a generator, so that models that answer at once and models that answer later share it: it yields functions that
 * call a model and takes back what they return, and it yields a record of each iteration. */

import {Lookup} from "./lookup.js";
import {Noise} from "./noise.js";
import {RULES, verified} from "./verify.js";
import {bestOf, logProbsOf, warpedDistribution} from "../viewer/distribution.js";

/** @import {ForestLayer, LiveBeam, LiveNode, LivePair} from "../viewer/types" */

/** Returns what is left at the end. All random numbers come from the generator, and from the noise of the seed.
 * @param {LivePair} pair @param {number[]} ids of the prompt @param {any} settings resolved */
export function* iterations(pair, ids, settings, {generator, now, guess = [], rules = RULES}) {
  const root = {parent: null, token: ids[ids.length - 1], length: 0};
  const noise = new Noise(settings.seed, ids, root);
  const lookup = new Lookup(ids, guess);
  const shared = {size: pair.target.vocabulary, eos: pair.eos, generator, noise, lookup};
  const target = pair.target.newState();
  const draft = settings.draft_depth > 0 ? pair.draft.newState() : null;
  const clock = clockOf(now);
  for (const cache of draft ? [target, draft] : [target]) yield () => cache.prefill(ids);
  const prefill_seconds = clock();
  const session = {beams: [{node: root, log_weight: 0, multiplicity: 1}], finished: [], length: 0, committed: 0};
  for (let index = 0; session.beams.length && session.length < settings.max_new_tokens; index++) {
    const {beams} = session;
    const phases = {};
    clock(); // leaves out the time that the caller took
    const depth = Math.min(settings.draft_depth, settings.max_new_tokens - session.length - 1);
    const forest = draft ? yield* drafted(draft, beams, depth, settings, shared) : new Forest(beams);
    phases.draft_seconds = clock();
    const nextTokensAfter = yield* scored(target, forest);
    const slots_scored = target.slots;
    const numbers = generator.uniforms(uniformsNeeded(forest.layers.length, settings)).values();
    phases.score_seconds = clock();
    const uniform = () => numbers.next().value;
    const verifiedLayers = verified({...shared, forest, nextTokensAfter, settings, uniform, rules});
    phases.verify_seconds = clock();
    const layers = upToEnd(verifiedLayers, session, settings, pair.eos);
    const kept = commit(session, layers, settings);
    const nodes = session.beams.map(({node}) => node);
    for (const cache of nodes.length ? [target, draft] : []) cache?.commit(nodes);
    phases.commit_seconds = clock();
    const step = {index, input_beams: beams, forest, nextTokensAfter, layers, kept, slots_scored, phases};
    yield {...step, ...shared, ...session, slots_kept: target.slots};
  }
  return {...session, prefill_seconds, states: {target, draft}, draft_calls: lookup.calls};
}

/* One forward of the target over the input beams and the forest. Returns a function that gives the log-probabilities
 * of the next token after a node. */
function* scored(state, forest) {
  const nodes = [...forest.beams.map(({node}) => node), ...forest.nodes()];
  const logits = yield () => state.forward(nodes);
  const logitsAfter = new Map(nodes.map((node, index) => [node, logits[index]]));
  const known = new Map();
  return (node) => {
    if (!known.has(node)) known.set(node, logProbsOf(logitsAfter.get(node), "target"));
    return known.get(node);
  };
}

/* How many random numbers verification takes at most: one for each trial and draw. */
function uniformsNeeded(depth, {forest, draft_width, max_width}) {
  return forest === "coupled" ? 0 : depth * draft_width + (depth + 1) * max_width;
}

/* Adds the beams that ended to the finished ones. Returns the layers up to the one that ends the decode, if one does:
 * dsbd/verification/beams.py and verified.py. */
function upToEnd(layers, session, settings, eos) {
  for (const [at, layer] of layers.entries()) {
    session.finished = [...session.finished, ...layer.beams.filter(({node}) => eos.has(node.token))];
    if (layer.living.length && endsEarly(session.finished, layer.living, settings)) {
      return [...layers.slice(0, at), {...layer, living: [], outcome: "stopped"}];
    }
  }
  return layers;
}

/* Whether early_stopping ends a decode after a layer that leaves `alive`; at the limit it ends anyway. */
function endsEarly(finished, alive, {early_stopping, length_penalty, max_width, max_new_tokens}) {
  const [{length}] = alive.map(({node}) => node);
  const counted = finished.flatMap((beam) => Array(beam.multiplicity).fill(beam));
  if (early_stopping === null || counted.length < max_width || length === max_new_tokens) return false;
  const scores = counted.map(({node, log_weight}) => log_weight / node.length ** length_penalty);
  const longest = early_stopping === "never" && length_penalty > 0 ? max_new_tokens : length;
  const best = Math.max(...alive.map(({log_weight}) => log_weight)) / longest ** length_penalty;
  return early_stopping === true || best <= scores.sort((one, other) => other - one)[max_width - 1];
}

/* Keeps the beams of the last layer. Returns the nodes whose slots stay: the ancestors of the beams that were not in
 * the committed prefix before, which is what all beams share. */
function commit(session, layers, {input_beams}) {
  session.length += layers.length;
  session.beams = keepBest(layers[layers.length - 1].living, input_beams);
  const kept = new Set();
  for (const beam of session.beams) {
    for (let node = beam.node.parent; node?.length >= session.committed; node = node.parent) kept.add(node);
  }
  const order = [...kept].sort((one, other) => one.length - other.length);
  const isShared = ({length}) => order.filter((one) => one.length === length).length === 1;
  const fork = order.findIndex((node) => !isShared(node));
  session.committed += fork < 0 ? order.length : fork;
  return order;
}

/* A function that returns the seconds since its last call. */
function clockOf(now) {
  let before = now();
  return () => {
    const since = now() - before;
    before += since;
    return Math.max(since, 0) / 1000;
  };
}

/* ---- beams as outputs: which are kept, and which is best, as in dsbd/verification/beams.py ----------------------- */

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

/* Drafting: the draft model grows the forest, layer by layer, as dsbd/draft.py does with the same numbers.
 *
 * A layer has draft_width draws, or in a coupled forest guesses of what the target draws. Equal draws share a node,
 * which carries their multiplicity. Nothing is drafted below a token that ends a beam. */
const LEAST_DRAFT_PROB = 1e-300; // a candidate less likely than this is not in Q
const WORTHLESS = 2; // a candidate with a larger margin is hardly ever drawn
const NO_DOUBT = 0.999; // a likelier candidate is the guess of all draws, whatever the noise

/* One tree of nodes below each input beam. */
export class Forest {
  /** @type {ForestLayer[]} */ layers = [];
  /** @type {Map<LiveNode, Map<number, LiveNode>>} */ children = new Map();
  /** @type {Map<LiveNode, number>} */ log_probs = new Map();

  /** @param {LiveBeam[]} beams */
  constructor(beams) {
    this.beams = beams;
  }

  find(parent, token) {
    return this.children.get(parent)?.get(token) ?? null;
  }

  /* The node of this token, made at the first call; log_prob: raw, under the draft model. */
  grow(parent, token, log_prob) {
    const known = this.find(parent, token);
    if (known) return known;
    const node = {parent, token, length: parent.length + 1};
    this.children.set(parent, (this.children.get(parent) ?? new Map()).set(token, node));
    this.log_probs.set(node, log_prob);
    return node;
  }

  /* All nodes: drafts layer by layer, then those that are not tested. */
  nodes() {
    return [...new Set(this.layers.flatMap(({drafts}) => drafts)), ...this.layers.flatMap(({untested}) => untested)];
  }
}

/* Draws `depth` layers below the input beams, fewer if all beams end, starting from the target's log-weights. A
 * generator: it yields calls of the model, and takes back what they return. */
function* drafted(state, beams, depth, settings, {size, eos, generator, noise, lookup}) {
  const forest = new Forest(beams);
  const margins = new Map(); // of a coupled forest: what the nodes that are extended lack to be drawn
  const isCoupled = settings.forest === "coupled";
  const logProbs = (one) => logProbsOf(one, "draft");
  const model = {
    forward: (nodes) => state.forward(nodes),
    logProbsOf: logProbs,
    vocabulary: size,
    top_k: settings.top_k,
  };
  lookup.begin(beams);
  let frontier = beams;
  while (forest.layers.length < depth && frontier.length) {
    const parents = frontier.map(({node}) => node);
    const nextTokens = yield* lookup.nextTokens(parents, forest.layers.length + 1, model);
    const distribution = {...warpedDistribution(nextTokens, frontier, settings, size), parents};
    const {candidates, probs, isRanked, weightAt} = distribution;
    const likeliest = bestOf(probs).filter((at) => probs[at] >= LEAST_DRAFT_PROB);
    const order = isRanked ? [...candidates.keys()] : likeliest;
    const guesses = isCoupled ? guessesOf(distribution, margins, settings, noise) : null;
    const drawn = isCoupled
      ? guesses.order.slice(0, settings.draft_width)
      : drawnFrom(order, distribution, settings, generator);
    const nodeAt = (at) => {
      const [beam, token] = [Math.floor(candidates[at] / size), candidates[at] % size];
      return forest.grow(parents[beam], token, nextTokens[beam][token]);
    };
    const drafts = drawn.map(nodeAt);
    const extras = extrasOf(distribution, drawn, settings, eos, guesses).map(nodeAt);
    forest.layers.push(layerOf(distribution, order, drawn, drafts, extras, isCoupled));
    if (isCoupled) drawn.forEach((at) => margins.set(nodeAt(at), guesses.margins[at]));
    const open = [...new Set(drawn)].filter((at) => !eos.has(candidates[at] % size));
    frontier = open.map((at) => {
      const multiplicity = isCoupled ? guesses.counts[at] || 1 : drawn.filter((one) => one === at).length;
      return {node: nodeAt(at), log_weight: weightAt(candidates[at]), multiplicity};
    });
  }
  return forest;
}

/* What the target will draw, as far as the draft model tells. order: the indices of the candidates with the least
 * margins; margins, counts: of each candidate its margin, and the draws that it is the guess of. See dsbd/draft.py. */
function guessesOf({candidates, scores, parents, size, isRanked, probs}, margins, {max_width, replacement}, noise) {
  const all = [...candidates.keys()];
  if (isRanked) return {order: all, margins: all.map(() => 0), counts: all.map(() => 1)};
  const [draws, winners] = replacement ? [max_width, 1] : [1, max_width]; // how many draws, and winners of each
  const parentOf = (at) => parents[Math.floor(candidates[at] / size)];
  const before = all.map((at) => margins.get(parentOf(at)) ?? 0);
  const [likeliest] = bestOf(probs, 1);
  if (replacement && probs[likeliest] > NO_DOUBT && before[likeliest] === 0) {
    const isLikeliest = (at) => at === likeliest;
    return {
      order: [likeliest],
      margins: all.map((at) => (isLikeliest(at) ? 0 : Infinity)),
      counts: all.map((at) => (isLikeliest(at) ? max_width : 0)),
    };
  }
  const own = all.map((at) => noise.gumbel(parentOf(at), candidates[at] % size, draws));
  const perturbed = Array.from({length: draws}, (_, draw) =>
    all.map((at) => (probs[at] > 0 ? scores[at] + own[at][draw] : -Infinity)),
  );
  const sure = perturbed.map((values) => values.map((value, at) => (before[at] === 0 ? value : -Infinity)));
  const best = sure.map((values) => bestOf(values, winners));
  const needed = best.map((won, draw) => (won.length === winners ? sure[draw][won[winners - 1]] : -Infinity));
  const lackOf = (at) => Math.min(...perturbed.map((values, draw) => Math.max(needed[draw] - values[at], 0)));
  const lacks = all.map((at) => before[at] + lackOf(at));
  const order = all.filter((at) => lacks[at] <= WORTHLESS);
  order.sort((one, other) => lacks[one] - lacks[other] || candidates[one] - candidates[other]);
  const counts = all.map((at) => best.flat().filter((one) => one === at).length);
  return {order, margins: lacks, counts};
}

/* The indices of the candidates that are drawn. order: the indices of all that can be drawn, best first. */
function drawnFrom(order, {probs, isRanked}, {draft_width: width, temperature, replacement}, generator) {
  if (isRanked) return order.slice(0, width);
  if (temperature === 0) return Array(width).fill(order[0]);
  const race = () => {
    const noise = generator.exponentials(order.length);
    return order.map((at, rank) => probs[at] / noise[rank]);
  };
  const ranks = replacement ? Array.from({length: width}, () => bestOf(race(), 1)[0]) : bestOf(race(), width);
  return ranks.map((rank) => order[rank]);
}

/* The likeliest candidates that were not drawn and do not end; in a coupled forest those with the least margins. */
function extrasOf({candidates, scores, size}, drawn, {cover_width, draft_width}, eos, guesses) {
  const ends = (at) => eos.has(candidates[at] % size);
  if (guesses) {
    const left = guesses.order.slice(draft_width).filter((at) => !ends(at));
    return left.slice(0, cover_width);
  }
  const open = scores.map((score, at) => (drawn.includes(at) || ends(at) ? -Infinity : score));
  return cover_width ? bestOf(open, cover_width) : [];
}

/** A layer as the verifier reads it. No node of a coupled forest is tested: there are no drafts.
 * @returns {ForestLayer} */
function layerOf({candidates, probs, parents, isRanked, size}, order, drawn, drafts, extras, isCoupled) {
  const rest = order.reduce((sum, at) => (drawn.includes(at) ? sum : sum + probs[at]), 0);
  const ordered = (values) => order.map((at) => values[at]);
  const distribution = {candidates: ordered(candidates), probs: ordered(probs), parents, isRanked, size};
  if (isCoupled) return {drafts: [], draft_probs: [], untested: [...drafts, ...extras], rest, distribution};
  return {drafts, draft_probs: drawn.map((at) => probs[at]), untested: extras, rest, distribution};
}

/* ---- random numbers --------------------------------------------------------------------------------------------- */

/* Those of torch on a CPU, so that a seed means the same here and in Python: the Mersenne Twister of Matsumoto and
 * Nishimura, mt19937. */
export const GENERATOR = "mt19937 as in torch on a CPU";

const [SIZE, SHIFT] = [624, 397];

/* The state that follows from the low 32 bits of a seed. */
function seededState(seed) {
  const state = new Uint32Array(SIZE);
  state[0] = seed % 2 ** 32;
  for (let at = 1; at < SIZE; at++) {
    const before = state[at - 1];
    state[at] = Math.imul(1812433253, before ^ (before >>> 30)) + at;
  }
  return state;
}

/* seed: a whole number from 0. uniforms(n) is torch.rand in float64, exponentials(n) is exponential_(). */
export function generatorOf(seed) {
  const state = seededState(seed);
  let next = SIZE;

  function renew() {
    for (let at = 0; at < SIZE; at++) {
      const mixed = (state[at] & 0x80000000) | (state[(at + 1) % SIZE] & 0x7fffffff);
      state[at] = state[(at + SHIFT) % SIZE] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
    }
    next = 0;
  }

  function bits() {
    if (next === SIZE) renew();
    let drawn = state[next++];
    drawn ^= drawn >>> 11;
    drawn ^= (drawn << 7) & 0x9d2c5680;
    drawn ^= (drawn << 15) & 0xefc60000;
    return (drawn ^ (drawn >>> 18)) >>> 0;
  }

  /* The low 53 of 64 bits, the first output above the second. */
  const uniform = () => ((bits() & 0x1fffff) * 2 ** 32 + bits()) / 2 ** 53;

  return {
    uniforms: (count) => Float64Array.from({length: count}, uniform),
    exponentials: (count) => Float64Array.from({length: count}, () => -Math.log1p(-uniform())),
  };
}
