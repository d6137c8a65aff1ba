/* Decides a chain under block verification again: arXiv 2403.10444. */

import {TOLERANCE, close, restOf, verdictOf} from "./trials.js";

/* How many drafts are accepted together: those of the longest beginning that passes its test. */
export const acceptedTogether = (beginnings) =>
  beginnings.findLastIndex(
    ({uniform, acceptance}) => uniform !== null && verdictOf(uniform, acceptance) === "accepted",
  ) + 1;

/* The verdict on the draft of a layer. */
export const verdictInBlock = (layer, together) => (layer <= together ? "accepted" : "rejected");

/* p of a beginning: min(1, p of the beginning before * P / Q). */
const passedOn = (before, target, draft) => (draft > 0 ? Math.min(1, (before * target) / draft) : 0);

/* The chance of a beginning that others follow. */
const chanceOf = (rest, probability) => (rest > 0 ? rest / (rest + 1 - probability) : 0);

/* Every beginning of a chain, shortest first. chain: [{node, at, draft_prob, targets, drafts}], a draft, the index of
 * its pair in P or null, Q at it, and both laws on the pairs of P. */
export function beginningsOf(chain) {
  let probability = 1;
  return chain.map(({node, at, draft_prob, targets}, place) => {
    const target_prob = at === null ? 0 : targets[at];
    probability = passedOn(probability, target_prob, draft_prob);
    const found = {node, target_prob, probability, rest: null, acceptance: probability, uniform: null};
    const following = chain[place + 1];
    if (following) {
      const scaled = following.targets.map((target) => probability * target);
      found.rest = restOf(scaled, following.drafts, 1);
      found.acceptance = chanceOf(found.rest, probability);
    }
    return found;
  });
}

export class Block {
  constructor(iteration) {
    this.iteration = iteration;
    this.beginnings = iteration.beginnings;
    this.together = acceptedTogether(this.beginnings);
  }

  /* One decision per beginning, as [layer, place of its last draft, follows]; one more where the chain is not whole. */
  *decisions() {
    const chain = this.iteration.nodes.flatMap((node, at) => (node.kind === "drafted" ? [at] : []));
    for (const [at, one] of this.beginnings.entries()) {
      yield [at + 1, one.node, one.node === chain[at] && this.chance(at, one) && this.uniform(at, one)];
    }
    const last = this.beginnings[this.beginnings.length - 1];
    if (this.beginnings.length < chain.length) {
      yield [1, chain[0], last?.target_prob === 0];
    }
  }

  chance(at, {node, target_prob: target, probability, rest, acceptance}) {
    const {target_prob: known, draft_prob: draft} = this.iteration.nodes[node];
    if (known !== null && !close(target, known)) return false;
    const before = at ? this.beginnings[at - 1].probability : 1;
    if (!close(probability, passedOn(before, target, draft))) return false;
    if (at === this.beginnings.length - 1) return rest === null && close(acceptance, probability);
    if (rest === null || !this.bounded(at, probability, rest)) return false;
    return close(acceptance, chanceOf(rest, probability));
  }

  /* s lies between p P − Q of the next draft and what the chain of its layer leaves of it. */
  bounded(at, probability, rest) {
    const following = this.iteration.layer(at + 2);
    const known = following?.kind === "draft";
    const most = known ? probability * following.chain_S[1] : probability;
    const next = this.beginnings[at + 1];
    const least = probability * next.target_prob - (this.iteration.nodes[next.node].draft_prob ?? 0);
    if (known && probability === 1 && !close(rest, most)) return false;
    return rest >= -TOLERANCE && rest <= most + TOLERANCE && least <= rest + TOLERANCE;
  }

  /* The longest beginning that is accepted is the last one that is tested. */
  uniform(at, {uniform}) {
    return at + 1 < this.together ? uniform === null : uniform !== null && uniform >= 0 && uniform < 1;
  }

  verdict({layer, residual_prob, c, S, acceptance, uniform}) {
    const bare = [residual_prob, c, S, acceptance, uniform].every((number) => number === null);
    return bare ? verdictInBlock(layer, this.together) : null;
  }

  /* c and S of max(P − Q / p, 0) after the accepted beginning. */
  residual() {
    const {probability: p, rest: s} = this.together
      ? this.beginnings[this.together - 1]
      : {probability: 1, rest: this.iteration.layers[0].chain_S[1]};
    return s > 0 ? [1 / p, s / p] : [0, 1];
  }
}
