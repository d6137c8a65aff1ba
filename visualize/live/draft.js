/* Drafting: the draft model grows the forest, layer by layer. dsbd/draft.py makes the same forest of the same numbers.
 *
 * A layer has draft_width draws of a sampled forest, or the likeliest pairs of a likely one. Equal draws share a
 * *slot*, which carries their multiplicity. Nothing is drafted below an empty slot or a token that ends a beam. */

import {bestOf, logProbsOf, warpedLaw} from "../viewer/law/joint.js";

const LEAST_DRAFT_PROB = 1e-300; // a pair less likely than this is not in Q

/* One tree of nodes below each input beam. layers: [{drafts, draft_probs, covers, rest, law}]. */
export class Forest {
  constructor(beams) {
    Object.assign(this, {beams, layers: [], children: new Map(), log_probs: new Map()});
  }

  find(parent, token) {
    return this.children.get(parent)?.get(token) ?? null;
  }

  /* The node with this content, which is made the first time; log_prob: raw, under the draft model. */
  grow(parent, token, log_prob) {
    const known = this.find(parent, token);
    if (known) return known;
    const node = {parent, token, length: parent.length + 1};
    if (!this.children.has(parent)) this.children.set(parent, new Map());
    this.children.get(parent).set(token, node);
    this.log_probs.set(node, log_prob);
    return node;
  }

  /* All nodes: drafts layer by layer, then cover nodes. */
  nodes() {
    return [...new Set(this.layers.flatMap(({drafts}) => drafts)), ...this.layers.flatMap(({covers}) => covers)];
  }
}

/* Draws `depth` layers below the input beams, fewer if all beams end, starting from the target's log-weights. A
 * generator: it yields calls of the row, and takes back what they return. */
export function* drafted(row, beams, depth, settings, {size, eos, generator}) {
  const forest = new Forest(beams);
  let frontier = beams;
  while (forest.layers.length < depth && frontier.some(Boolean)) {
    const living = frontier.filter(Boolean);
    const logits = yield () => row.feed(living.map(({node}) => node));
    const rows = frontier.map((slot) => (slot ? logProbsOf(logits[living.indexOf(slot)], "draft") : null));
    const law = {...warpedLaw(rows, frontier, settings, size), parents: frontier.map((slot) => slot?.node)};
    law.probs = law.probs.map((prob) => (prob >= LEAST_DRAFT_PROB ? prob : 0));
    const chosen = slotsOf(law, frontier.length * size, settings, generator);
    const raw = (at) => rows[Math.floor(law.pairs[at] / size)][law.pairs[at] % size];
    const grown = (at) => forest.grow(law.parents[Math.floor(law.pairs[at] / size)], law.pairs[at] % size, raw(at));
    const exists = (at) => law.isRanked || law.probs[at] > 0;
    const drawn = chosen.filter(exists);
    const drafts = drawn.map(grown);
    const covers = coversOf(law, chosen, settings, eos).map(grown);
    forest.layers.push(layerOf(law, drawn, drafts, covers, settings));
    frontier = [...new Set(chosen)].map((at) => {
      if (!exists(at) || eos.has(law.pairs[at] % size)) return null;
      const log_weight = frontier[Math.floor(law.pairs[at] / size)].log_weight + raw(at);
      return {node: grown(at), log_weight, multiplicity: chosen.filter((one) => one === at).length};
    });
  }
  return forest;
}

/* The pair of each slot, by its place in the law: the draws, or the likeliest. all: how many pairs there are, possible
 * or not; each has its random number. */
function slotsOf({scores, probs, isRanked}, all, settings, generator) {
  const {forest, draft_width: width, temperature, top_k, replacement} = settings;
  if (forest === "likely" || isRanked) return bestOf(scores, width);
  if (temperature === 0) return Array(width).fill(0);
  const count = Math.min(top_k || all, all);
  const race = () => {
    const noise = generator.exponentials(count);
    return probs.map((prob, at) => prob / noise[at]);
  };
  if (!replacement) return bestOf(race(), width);
  return Array.from({length: width}, () => bestOf(race(), 1)[0]);
}

/* The likeliest pairs that were not chosen and do not end. */
function coversOf({pairs, scores, size}, chosen, {cover_width}, eos) {
  if (!cover_width) return [];
  const left = scores.map((score, at) => (chosen.includes(at) || eos.has(pairs[at] % size) ? -Infinity : score));
  return bestOf(left, cover_width);
}

/* A layer as the verifier reads it. The nodes of a likely forest were not drawn: they are cover nodes. rest: the mass
 * of Q that was not drawn. */
function layerOf(law, drawn, drafts, covers, {forest}) {
  const kept = [...law.pairs.keys()].filter((at) => law.isRanked || law.probs[at] > 0);
  const rest = kept.reduce((sum, at) => (drawn.includes(at) ? sum : sum + law.probs[at]), 0);
  const pairs = kept.map((at) => law.pairs[at]);
  const probs = kept.map((at) => law.probs[at]);
  const {parents, isRanked, size} = law;
  const held = {pairs, probs, parents, isRanked, size};
  if (forest === "likely") return {drafts: [], draft_probs: [], covers: drafts, rest, law: held};
  return {drafts, draft_probs: drawn.map((at) => law.probs[at]), covers, rest, law: held};
}
