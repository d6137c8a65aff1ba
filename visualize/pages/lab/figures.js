/* Rates of accepted guesses, as counted and by formula. */

import {filled, fixed, make} from "./elements.js";

export function figures({done, seen, settings, formula, pair}, words) {
  const share = (count, of) => (of ? fixed(count / of, 3) : "–");
  const guessed = settings.depth > 0 ? done : 0;
  const rows = [
    [words.first, share(seen.first, guessed), fixed(formula.first, 3)],
    [filled(words.filled, {width: settings.width}), share(seen.filled, guessed), fixed(formula.filled, 3)],
    [words.accepted, share(seen.accepted, seen.tried), ""],
    [words.pass, seen.passes ? fixed((done * pair.layers) / seen.passes, 2) : "–", ""],
  ];
  const head = ["", words.seen, words.formula].map((text) => make("th", {scope: "col"}, text));
  const body = rows.map(([label, ...numbers]) => {
    const cells = numbers.map((number) => make("td", {}, number));
    return make("tr", {}, make("th", {scope: "row"}, label), ...cells);
  });
  return make(
    "table",
    {className: "lab-figures"},
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
}
