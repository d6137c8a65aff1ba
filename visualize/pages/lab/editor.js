/* Changes the tables: one text, and the law of the next word of both models after it. */

import {make, table} from "./shown.js";
import {textOf, withCell, withRow} from "./tables.js";

const MODELS = ["target", "draft"];

/* pair() returns the current pair; changed(pair) takes a new one. */
export function editor(recorded, words, pair, changed) {
  const after = (path) => `${recorded.prompt} ${textOf(recorded, path)}`.trim();
  const paths = Object.keys(recorded.target)
    .sort()
    .map((path) => make("option", {value: path}, after(path)));
  const text = make("select", {}, ...paths);
  const cell = (model, word) => {
    const label = `${words[model]}, ${recorded.words[word]}`;
    const input = make("input", {type: "number", min: 0, max: 1, step: 0.01, ariaLabel: label});
    input.addEventListener("change", () => {
      const row = withCell(pair()[model][text.value], word, input.value === "" ? NaN : Number(input.value));
      changed(withRow(pair(), model, row, text.value));
      show();
    });
    return input;
  };
  const cells = MODELS.map((model) => recorded.words.map((_, word) => cell(model, word)));
  const show = () =>
    MODELS.forEach((model, at) =>
      cells[at].forEach((input, word) => (input.value = Number(pair()[model][text.value][word].toFixed(3)))),
    );
  const button = (label, act) => {
    const element = make("button", {type: "button"}, label);
    element.addEventListener("click", () => {
      changed(act());
      show();
    });
    return element;
  };
  const everywhere = () => MODELS.reduce((made, model) => withRow(made, model, pair()[model][text.value]), pair());
  const rows = MODELS.map((model, at) => [[words[model]], ...cells[at]]);
  text.addEventListener("change", show);
  show();
  return make(
    "details",
    {className: "lab-tables"},
    make("summary", {}, words.change),
    make("label", {}, words.after, text),
    table("", [words.next, ...recorded.words], rows),
    make(
      "p",
      {},
      button(words.everywhere, everywhere),
      button(words.recorded, () => recorded),
    ),
  );
}
