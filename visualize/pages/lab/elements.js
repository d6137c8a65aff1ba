/* Elements and numbers of the lab. */

const SVG = "http://www.w3.org/2000/svg";

export function make(name, properties = {}, ...inside) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...inside);
  return element;
}

export function drawn(name, attributes, ...inside) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

/* A sentence with its numbers. */
export const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export const whole = (number) => Math.round(number).toLocaleString(document.documentElement.lang);

export const fixed = (number, digits) =>
  number.toLocaleString(document.documentElement.lang, {minimumFractionDigits: digits, maximumFractionDigits: digits});

export const squared = (square) => (square === Infinity ? "∞" : square < 100 ? fixed(square, 1) : whole(square));
