/* Numbers as Python rounds them: a tie goes to the even digit. JavaScript's own rounding takes it up. */

const EXACT = 60; // more digits than a number has that ends in a tie

/* Six significant digits, or as many as asked for; null stays null. */
export function significant(value, digits = 6) {
  if (value === null) return null;
  const [mantissa, exponent] = value.toExponential(EXACT).split("e");
  const end = mantissa.indexOf(".") + digits;
  return Number(isEvenTie(mantissa, end) ? `${mantissa.slice(0, end)}e${exponent}` : value.toPrecision(digits));
}

/* This many digits after the point. */
export function toPlaces(value, places) {
  const whole = value.toFixed(EXACT);
  const end = whole.indexOf(".") + 1 + places;
  return Number(isEvenTie(whole, end) ? whole.slice(0, end) : value.toFixed(places));
}

const isEvenTie = (number, end) => /^50*$/.test(number.slice(end)) && "02468".includes(number[end - 1]);
