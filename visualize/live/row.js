/* A model's memory of one decode: keys and values of the prompt and of a tree of nodes, one slot each.
 *
 * The prompt comes first. A mask lets each node see the prompt and its own ancestors; its position is the prompt's
 * length plus its depth. The last nodes of the beams are not kept: each iteration feeds them again, for their logits.
 * Twin of dsbd/models/rows/forest.py. */

const PREFILL_TOKENS = 512;
const FIRST_ROOM = 256;
const UNSEEN = -3.4e38;

export class Row {
  slots = 0;
  peak = 0;
  #forward;
  #perSlot;
  #caches;
  #prompt = 0; // slots
  #last; // id of the prompt
  #slotOf = new Map(); // of nodes

  /* forward: as model.js has it. count: the arrays of keys and values. perSlot: the numbers of a slot in each. */
  constructor(forward, count, perSlot) {
    this.#forward = forward;
    this.#perSlot = perSlot;
    this.#caches = Array.from({length: count}, () => new Float32Array(FIRST_ROOM * perSlot));
  }

  get bytesPerSlot() {
    return this.#caches.length * this.#perSlot * Float32Array.BYTES_PER_ELEMENT;
  }

  /* Reads all ids of a prompt but the last, which is the root's token. */
  async prefill(ids) {
    const stored = ids.slice(0, -1);
    for (let start = 0; start < stored.length; start += PREFILL_TOKENS) {
      const tokens = stored.slice(start, start + PREFILL_TOKENS);
      const positions = tokens.map((_, place) => start + place);
      await this.#run(tokens, positions, (sees, place) => sees.fill(0, 0, start + place + 1), [0]);
    }
    this.#prompt = stored.length;
    this.#last = ids.at(-1);
  }

  /* Returns the logits of distinct nodes, parents before children; brings their missing ancestors along. */
  async feed(nodes) {
    const fed = new Set();
    for (const node of nodes) {
      for (const one of this.#missing(node.parent, fed)) fed.add(one);
      fed.add(node);
    }
    const order = [...fed];
    const places = new Map(order.map((node, place) => [node, this.slots + place]));
    const tokens = order.map((node) => (node.parent ? node.token : this.#last));
    const positions = order.map((node) => this.#prompt + node.length);
    const sees = (row, place) => {
      row.fill(0, 0, this.#prompt);
      for (let node = order[place]; node; node = node.parent) row[places.get(node) ?? this.#slotOf.get(node)] = 0;
    };
    const asked = nodes.map((node) => places.get(node) - this.slots);
    const logits = await this.#run(tokens, positions, sees, asked);
    places.forEach((slot, node) => this.#slotOf.set(node, slot));
    return logits;
  }

  #missing(node, fed) {
    const found = [];
    for (let one = node; one && !this.#slotOf.has(one) && !fed.has(one); one = one.parent) found.push(one);
    return found.reverse();
  }

  /* Keeps the ancestors of the beams that go on, moved together behind the prompt. */
  commit(nodes) {
    const kept = new Set();
    for (const {parent} of nodes) {
      for (let node = parent; node && !kept.has(node); node = node.parent) kept.add(node);
    }
    const order = [...this.#slotOf.keys()].filter((node) => kept.has(node)); // the slots ascend
    order.forEach((node, place) => {
      const from = this.#slotOf.get(node) * this.#perSlot;
      const to = (this.#prompt + place) * this.#perSlot;
      for (const cache of this.#caches) cache.copyWithin(to, from, from + this.#perSlot);
    });
    this.#slotOf = new Map(order.map((node, place) => [node, this.#prompt + place]));
    this.slots = this.#prompt + order.length;
  }

  async #run(tokens, positions, sees, asked) {
    const total = this.slots + tokens.length;
    const mask = new Float32Array(tokens.length * total).fill(UNSEEN);
    tokens.forEach((_, place) => sees(mask.subarray(place * total, (place + 1) * total), place));
    const used = this.#caches.map((cache) => cache.subarray(0, this.slots * this.#perSlot));
    const {logits, fresh} = await this.#forward({tokens, positions, mask, asked, used});
    fresh.forEach((states, number) => this.#append(number, states));
    this.slots = total;
    this.peak = Math.max(this.peak, total);
    return logits;
  }

  #append(number, states) {
    const start = this.slots * this.#perSlot;
    const cache = this.#caches[number];
    if (cache.length < start + states.length) {
      this.#caches[number] = new Float32Array(2 * (start + states.length));
      this.#caches[number].set(cache.subarray(0, start));
    }
    this.#caches[number].set(states, start);
  }
}
