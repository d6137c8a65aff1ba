/* How close a recorded number must be to the one that is computed again. */

export const TOLERANCE = 1e-9;
export const TIE = 1e-12; // a probability this close to the threshold may fall on either side

export const close = (recorded, expected) =>
  Number.isFinite(recorded) &&
  Number.isFinite(expected) &&
  Math.abs(recorded - expected) <= TOLERANCE * Math.max(1, Math.abs(expected));
