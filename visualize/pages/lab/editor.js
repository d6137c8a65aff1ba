/* Changes the tables: one text, and the law of the next word of both models after it. */

import {button, make} from "../../viewer/dom.js";
import {tableOf} from "./shown.js";
import {textOf, withCell, withRow} from "./tables.js";

const MODELS = ["target", "draft"];

/* pair() returns the current pair; changed(pair) takes a new one. */
export function editor(recorded, words, pair, changed) {
  const after = (path) => `${recorded.prompt} ${textOf(recorded, path)}`.trim();
  const paths = Object.keys(recorded.target)
    .sort()
    .map((path) => make("option", {value: path, text: after(path)}));
  const text = make("select", {}, ...paths);
  const cell = (model, word) => {
    const label = `${words[model]}, ${recorded.words[word]}`;
    const change = () => {
      const row = withCell(pair()[model][text.value], word, input.value === "" ? NaN : Number(input.value));
      changed(withRow(pair(), model, row, text.value));
      show();
    };
    const input = make("input", {type: "number", min: 0, max: 1, step: 0.01, "aria-label": label, onchange: change});
    return input;
  };
  const cells = MODELS.map((model) => recorded.words.map((_, word) => cell(model, word)));
  const show = () =>
    MODELS.forEach((model, at) =>
      cells[at].forEach((input, word) => (input.value = Number(pair()[model][text.value][word].toFixed(3)))),
    );
  const setting = (label, act) => {
    const onclick = () => {
      changed(act());
      show();
    };
    return button({text: label, onclick});
  };
  const everywhere = () => MODELS.reduce((made, model) => withRow(made, model, pair()[model][text.value]), pair());
  const rows = MODELS.map((model, at) => [[words[model]], ...cells[at]]);
  text.addEventListener("change", show);
  show();
  return make(
    "details",
    {class: "lab-tables"},
    make("summary", {text: words.change}),
    make("label", {}, words.after, text),
    tableOf("", [words.next, ...recorded.words], rows),
    make(
      "p",
      {},
      setting(words.everywhere, everywhere),
      setting(words.recorded, () => recorded),
    ),
  );
}
