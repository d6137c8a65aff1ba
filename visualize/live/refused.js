/* What cannot be decoded, as the key of a sentence and its values: the page has the sentences, in its own language. */

import {filled} from "../viewer/dom.js";

/* values: numbers, names of settings, or texts. */
export class Refused extends Error {
  constructor(key, values = {}, options = undefined) {
    super(`${key} ${JSON.stringify(values)}`, options);
    Object.assign(this, {key, values});
  }
}

/* The sentence of an error. words: the page's, by key. called: returns a setting's label, or else the text as it is. */
export function sentenceOf({key, values, message}, {words, called, language}) {
  if (!key) return message.replace(/\.?$/, ".");
  const digits = {maximumFractionDigits: 6};
  const shown = (value) => (typeof value === "number" ? value.toLocaleString(language, digits) : called(value));
  const texts = Object.entries(values).map(([name, value]) => [name, shown(value)]);
  return filled(words[`refused.${key}`], Object.fromEntries(texts));
}
