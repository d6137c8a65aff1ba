/* The random numbers of a decode: those of torch on a CPU, so that a seed means the same here and in Python.
 * Matsumoto and Nishimura's Mersenne Twister, mt19937. */

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
  let place = SIZE;

  function renew() {
    for (let at = 0; at < SIZE; at++) {
      const mixed = (state[at] & 0x80000000) | (state[(at + 1) % SIZE] & 0x7fffffff);
      state[at] = state[(at + SHIFT) % SIZE] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
    }
    place = 0;
  }

  function bits() {
    if (place === SIZE) renew();
    let drawn = state[place++];
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
