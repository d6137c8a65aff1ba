/* Gumbel noise that is a function of seed, prompt and path, bit by bit that of dsbd/verification/noise.py, which says
 * why: the candidate with the largest score + noise is a draw, and draft and target see the same noise. */

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57];
const WEYL = [0x9e3779b9, 0xbb67ae85];
const ROUNDS = 10;
const WORD = 2 ** 32;
const [PATH, PROMPT] = [2 ** 31, 2 ** 31 + 1]; // last words of counters that make no noise, but hashes

/* The high 32 bits of a product of two words. */
function high(one, other) {
  const [oneLow, oneHigh, low, upper] = [one & 0xffff, one >>> 16, other & 0xffff, other >>> 16];
  const middle = oneHigh * low + ((oneLow * low) >>> 16);
  const crossed = oneLow * upper + (middle & 0xffff);
  return oneHigh * upper + (middle >>> 16) + (crossed >>> 16);
}

/** Philox4x32-10: four random words of a key of two words and a counter of four.
 * @param {number[]} key @param {number[]} counter */
export function philox([low, upper], counter) {
  let [first, second, third, fourth] = counter;
  for (let round = 0; round < ROUNDS; round++) {
    const [left, right] = [Math.imul(MULTIPLIERS[0], first), Math.imul(MULTIPLIERS[1], third)];
    const [leftHigh, rightHigh] = [high(MULTIPLIERS[0], first), high(MULTIPLIERS[1], third)];
    [first, second, third, fourth] = [rightHigh ^ second ^ low, right, leftHigh ^ fourth ^ upper, left];
    [low, upper] = [(low + WEYL[0]) | 0, (upper + WEYL[1]) | 0];
  }
  return [first >>> 0, second >>> 0, third >>> 0, fourth >>> 0];
}

export class Noise {
  /** @param {number} seed a whole number from 0
   * @param {number[]} ids the prompt's @param {import("../viewer/types").LiveNode} root the node of its end */
  constructor(seed, ids, root) {
    this.key = [seed % WORD, Math.floor(seed / WORD)];
    const hash = [0, 0];
    ids.forEach((id, at) => {
      const words = philox(this.key, [at, 0, id, PROMPT]);
      for (const word of [0, 1]) hash[word] = (hash[word] ^ words[word]) >>> 0;
    });
    this.hashes = new Map([[root, hash]]);
  }

  /* The noise of a candidate for each of `draws` draws. */
  gumbel(parent, token, draws) {
    const values = [];
    for (let block = 0; values.length < draws; block++) {
      const words = philox(this.key, [...this.hashOf(parent), token, block]);
      for (const at of [0, 2]) {
        const uniform = ((words[at] >>> 6) * 2 ** 26 + (words[at + 1] >>> 6) + 0.5) / 2 ** 52;
        values.push(-Math.log(-Math.log(uniform)));
      }
    }
    return values.slice(0, draws);
  }

  hashOf(node) {
    if (!this.hashes.has(node)) {
      this.hashes.set(node, philox(this.key, [...this.hashOf(node.parent), node.token, PATH]).slice(0, 2));
    }
    return this.hashes.get(node);
  }
}
