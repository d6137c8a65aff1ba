/* Guesses copied from the prompt, the text so far and texts that are expected; where they are not sure, mixed with
 * those of the draft model. The same as dsbd/drafts/lookup.py and mixture.py. */

import {bestOf} from "../viewer/distribution.js";

/** @import {LiveBeam, LiveNode} from "../viewer/types" */

/** The tokens from the prompt to a node. @param {LiveNode} node @returns {number[]} */
export function idsOf(node) {
  const ids = [];
  for (; node.parent; node = node.parent) ids.push(node.token);
  return ids.reverse();
}

const SIZES = [8, 6, 4, 3, 2]; // how many tokens are compared with earlier ones
const EXPECTED_SIZES = [...SIZES, 1];
const [CONTEXT] = SIZES;
const [SURE_COPY, SHARE] = [0.95, 0.1];

/* Counts of the tokens that followed each context. */
class Continuations {
  /** @type {Map<string, Map<number, number>>} */ table = new Map();

  /** @param {number[]} sizes */
  constructor(sizes) {
    this.sizes = sizes;
  }

  add(ids, start) {
    for (let end = start; end < ids.length; end++) {
      for (const size of this.sizes.filter((one) => one <= end)) {
        const context = ids.slice(end - size, end).join();
        const counts = this.table.get(context) ?? new Map();
        this.table.set(context, counts.set(ids[end], (counts.get(ids[end]) ?? 0) + 1));
      }
    }
  }
}

export class Lookup {
  calls = 0; // of the draft model
  text = new Continuations(SIZES);
  expected = new Continuations(EXPECTED_SIZES);

  /** @param {number[]} ids of the prompt @param {number[][]} guess the ids of texts that are expected */
  constructor(ids, guess) {
    this.guess = guess;
    this.size = ids.length;
    this.ids = [...ids];
    this.prompt = ids.slice(-CONTEXT);
    this.text.add(ids, 0);
    for (const one of guess) this.expected.add([...this.prompt, ...one], this.prompt.length);
  }

  /** Takes in what the beams share. @param {LiveBeam[]} beams */
  begin(beams) {
    const [first, ...others] = beams.map(({node}) => idsOf(node));
    const parting = first.findIndex((id, at) => others.some((path) => path[at] !== id));
    const start = this.ids.length;
    this.ids.push(...first.slice(0, parting < 0 ? first.length : parting).slice(start - this.size));
    this.text.add(this.ids, start);
    this.hasAsked = false;
  }

  /** The log-probabilities of the next token after each node of a layer, from 1; a generator, as the decoder is.
   * @param {LiveNode[]} nodes @param {number} layer */
  *nextTokens(nodes, layer, {forward, logProbsOf, vocabulary, top_k}) {
    const copied = this.guess.length ? nodes.map((node) => this.after(node)) : [];
    const isSure = (probs) => Math.log(Math.max(0, ...probs.values())) >= Math.log(SURE_COPY);
    if (copied.length && copied.every(isSure)) {
      return copied.map((probs) => Float64Array.from({length: vocabulary}, (_, id) => Math.log(probs.get(id) ?? 0)));
    }
    this.calls += this.hasAsked || layer === 1 ? 1 : 2; // the beams first, as in Python
    this.hasAsked = true;
    const rows = Array.from(yield () => forward(nodes), logProbsOf);
    return rows.map((row, index) => (copied[index]?.size ? mixed(copied[index], row, top_k) : row));
  }

  /* The probabilities of what followed the last tokens, by id: docs/algorithm.md, *Drafts without a draft model*. */
  after(node) {
    const last = [...this.prompt, ...idsOf(node)].slice(-CONTEXT);
    const probs = new Map();
    const add = (id, prob) => probs.set(id, (probs.get(id) ?? 0) + prob);
    let left = 1;
    for (const size of EXPECTED_SIZES.filter((one) => one <= last.length)) {
      for (const {sizes, table} of [this.expected, this.text]) {
        const counts = sizes.includes(size) ? table.get(last.slice(-size).join()) : null;
        if (!counts) continue;
        const total = [...counts.values()].reduce((one, other) => one + other);
        const part = left / (total + counts.size);
        counts.forEach((count, id) => add(id, part * count));
        left -= part * total;
      }
    }
    for (const {[node.length]: id} of this.guess) {
      if (id === undefined) continue;
      add(id, left / 2);
      left /= 2;
    }
    return probs;
  }
}

function mixed(copied, row, top_k) {
  const best = new Set(bestOf(row, top_k || Infinity));
  const total = SHARE * [...copied.values()].reduce((one, other) => one + other);
  return row.map((log_prob, id) =>
    Math.log((best.has(id) ? (1 - total) * Math.exp(log_prob) : 0) + SHARE * (copied.get(id) ?? 0)),
  );
}
