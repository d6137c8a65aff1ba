/* A dotted word that explains itself: it opens and closes a line beside it. The line stays open from step to step. */

import {button, make} from "./dom.js";

/* The word and its line. key: of the sentence `term.KEY`. */
export function term(viewer, key, word) {
  const line = make("span", {class: "dsbd-term-line", text: viewer.say(`term.${key}`)});
  const show = () => {
    const open = viewer.terms.has(key);
    line.hidden = !open;
    opener.setAttribute("aria-expanded", open);
  };
  const onclick = () => {
    if (!viewer.terms.delete(key)) viewer.terms.add(key);
    show();
  };
  const opener = button({class: "dsbd-term", text: word, onclick});
  show();
  return [opener, line];
}
