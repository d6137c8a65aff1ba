/* The lab: a button that decodes many times with two tables, here in the browser, and counts how every decode ends. */

import {button, filled, localised, make} from "../../viewer/dom.js";
import {editor} from "./editor.js";
import {Experiment} from "./experiment.js";
import {chart, ends, figures, squared} from "./shown.js";

const [SURE, RARE, TINY] = [1e-6, 0.01, 1e-4];

export function mountLab(root, {pair: recorded, runs, words}) {
  let pair = recorded;
  let lines = {};
  let running = null;
  const choice = (label, options) => {
    const select = make("select", {}, ...options.map(([value, text]) => make("option", {value, text})));
    return [select, make("label", {}, label, select)];
  };
  const numbers = (most) => Array.from({length: most}, (_, at) => [at + 1, at + 1]);
  const kinds = ["dsbd", "accept_all", "forget_residual", "warp_twice", "draft_alone"].map((kind) => [
    kind,
    words[kind],
  ]);
  const [decoder, decoderLabel] = choice(words.decoder, kinds);
  const [width, widthLabel] = choice(words.width, numbers(2));
  const [depth, depthLabel] = choice(words.depth, numbers(recorded.layers - 1));
  const [guesses, guessesLabel] = choice(words.guesses, numbers(4));
  const [temperature, temperatureLabel] = choice(
    words.temperature,
    [1, 0.7, 0.5].map((value) => [value, value]),
  );
  const seed = make("input", {type: "number", min: 0, max: 2 ** 32 - 1, step: 1, value: 0});
  const run = button({class: "lab-run"});
  const bar = make("progress", {max: runs, value: 0, "aria-label": words.progress});
  const said = make("p", {class: "lab-said", role: "status"});
  const [graph, caption, counted, facts] = [make("div"), make("p"), make("div"), make("div")];
  [width.value, depth.value, guesses.value] = [2, Math.min(2, recorded.layers - 1), 3];

  const asked = () => ({
    runs,
    seed: Math.abs(Math.trunc(Number(seed.value))) || 0,
    width: Number(width.value),
    depth: Number(depth.value),
    guesses: Number(guesses.value),
    temperature: Number(temperature.value),
    decoder: decoder.value,
  });

  function show(experiment) {
    const {freedom, limit, done, settings, squares} = experiment;
    if (done) lines[settings.decoder] = squares;
    graph.replaceChildren(chart({runs, freedom, limit}, lines));
    caption.textContent = filled(words.chart, {freedom, limit: squared(limit)});
    counted.replaceChildren(ends(experiment, pair, words));
    facts.replaceChildren(figures(experiment, words));
    bar.value = done;
  }

  function verdict({settings, done, square, freedom, p}) {
    const judged = freedom < 1 ? "certain" : p < SURE ? "departs" : p < RARE ? "rare" : "fits";
    const shown = p < TINY ? `p < ${localised(TINY, 4)}` : `p = ${localised(p, p < 0.1 ? 4 : 2)}`;
    const given = {decoder: words[settings.decoder], done: localised(done), square: squared(square), freedom, p: shown};
    return `${filled(words.result, given)} ${words[done < runs ? "stopped" : judged]}`;
  }

  const ready = () => (run.textContent = filled(words.run, {count: localised(runs)}));

  /* Starts over with other settings. The lines of the chart stay if the exact law is the same. */
  function renew(isSameLaw) {
    running?.stop();
    running = null;
    if (!isSameLaw) lines = {};
    said.textContent = "";
    ready();
    show(new Experiment(pair, asked()));
  }

  async function decodeAll() {
    const experiment = new Experiment(pair, asked());
    running = experiment;
    run.textContent = words.stop;
    said.textContent = "";
    await experiment.run(() => running === experiment && show(experiment));
    if (running !== experiment) return;
    running = null;
    ready();
    said.textContent = verdict(experiment);
  }

  run.addEventListener("click", () => (running ? running.stop() : decodeAll()));
  for (const one of [decoder, depth, guesses, seed]) one.addEventListener("change", () => renew(true));
  for (const one of [width, temperature]) one.addEventListener("change", () => renew(false));
  const change = (changed) => {
    pair = changed;
    renew(false);
  };
  const seedLabel = make("label", {}, words.seed, seed);
  const settings = [decoderLabel, widthLabel, depthLabel, guessesLabel, temperatureLabel, seedLabel];
  root.replaceChildren(
    make("div", {class: "lab-settings"}, ...settings),
    make("div", {class: "lab-go"}, run, bar),
    said,
    make("div", {class: "lab-seen"}, counted, make("div", {}, graph, caption, facts)),
    editor(recorded, words, () => pair, change),
  );
  renew(false);
}

for (const root of document.querySelectorAll(".lab")) {
  mountLab(root, JSON.parse(root.querySelector("script").textContent));
}
