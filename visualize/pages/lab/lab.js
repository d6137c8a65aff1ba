/* The lab: a button that decodes many times with two tables, here in the browser, and counts how every decode ends. */

import {draw, filled, localised, make} from "../../viewer/dom.js";
import {Experiment, limitOf, nameOf} from "./decode.js";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [330, 150, 40, 8, 18];
const SHOWN = 9;

/* A table. Each row is a list: what its head holds, a list too, then the content of its cells. */
function tableOf(className, heads, rows) {
  const head = heads.map((text) => make("th", {scope: "col", text}));
  const body = rows.map(([name, ...cells]) =>
    make("tr", {}, make("th", {scope: "row"}, ...name), ...cells.map((cell) => make("td", {}, cell))),
  );
  return make("table", {class: className}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

const squared = (square) => (square === Infinity ? "∞" : square < 100 ? localised(square, 1) : localised(square));

/* The likeliest ends with bars: counted so far, beside what the exact distribution expects of so many decodes. */
function ends({distribution, counts, done, settings}, pair, words) {
  const sorted = [...distribution].sort(([, one], [, other]) => other - one);
  const rows = sorted.slice(0, SHOWN).map(([end, chance]) => [nameOf(pair, end), chance, counts.get(end) ?? 0]);
  const rest = sorted.length - rows.length;
  if (rest > 0) {
    const sum = (column) => rows.reduce((total, row) => total + row[column], 0);
    rows.push([filled(words.others, {count: localised(rest)}), Math.max(0, 1 - sum(1)), done - sum(2)]);
  }
  const scale = 100 / Math.max(...rows.map(([, chance, count]) => Math.max(chance * settings.runs, count)));
  const bar = (kind, count) => {
    const element = make("span", {class: `lab-bar lab-${kind}`});
    element.style.width = `${Math.min(100, count * scale)}%`;
    return element;
  };
  const shown = rows.map(([name, chance, count]) => {
    const bars = make("span", {class: "lab-bars"}, bar("counted", count), bar("expected", chance * done));
    return [[name, bars], localised(count), localised(chance * done)];
  });
  return tableOf("lab-ends", [words.end, words.counted, words.expected], shown);
}

/* Chi-square against the number of decodes: a line for each decoder that ran, and what a lossless one stays near.
 * lines: {decoder: [[decodes, chi-square], ...]}. */
function chart({runs, freedom, limit}, lines) {
  const finite = (squares) => squares.filter(([, square]) => square < Infinity);
  const all = Object.values(lines).flatMap((squares) => finite(squares).map(([, square]) => square));
  const top = Math.max(1.3 * limit, 1.05 * Math.max(0, ...all));
  const x = (done) => LEFT + (done / runs) * (WIDTH - LEFT - 4);
  const y = (square) => HEIGHT - BOTTOM - (square / top) * (HEIGHT - BOTTOM - TOP);
  const level = (square, name) => draw("path", {class: name, d: `M${LEFT},${y(square).toFixed(1)}H${WIDTH - 4}`});
  const label = (text, at, height, anchor) => draw("text", {x: at, y: height, "text-anchor": anchor, text});
  const highest = 10 ** Math.floor(Math.log10(top));
  const tick = Math.floor(top / highest) * highest;
  const mark = (square) => label(localised(square), LEFT - 5, y(square) + 4, "end");
  const marks = [...new Set([0, tick / 2, tick])].map(mark);
  const paths = Object.entries(lines).map(([decoder, squares]) => {
    const points = finite(squares).map(([done, square]) => `${x(done).toFixed(1)},${y(square).toFixed(1)}`);
    return draw("path", {class: `lab-line lab-${decoder}`, d: points.length ? `M${points.join("L")}` : ""});
  });
  const levels = [level(0, "lab-axis"), level(freedom, "lab-level"), level(limit, "lab-level lab-limit")];
  const edges = [label("0", LEFT, HEIGHT - 4, "middle"), label(localised(runs), WIDTH - 4, HEIGHT - 4, "end")];
  const box = {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lab-chart", "aria-hidden": "true"};
  return draw("svg", box, ...levels, ...marks, ...edges, ...paths);
}

const SURE = 4.7534; // deviations that a normal value exceeds once in a million

function mountLab(root, {pair, runs, words}) {
  let lines = {};
  let running = null;
  const [decoder, width, depth, guesses, temperature, seed] = root.querySelectorAll("select, input");
  const [run, bar, status] = [".lab-run", "progress", ".lab-said"].map((part) => root.querySelector(part));
  const [counted, graph, caption, fact] = root.querySelectorAll("[data-part]");

  const chosen = () => ({
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
    fact.textContent = done ? `${words.pass}: ${localised((done * pair.layers) / experiment.passes, 2)}` : "";
    bar.value = done;
  }

  function verdict({settings, done, square, freedom, limit}) {
    const verdict = square > limitOf(freedom, SURE) ? "departs" : square > limit ? "rare" : "fits";
    const judged = freedom < 1 ? "certain" : verdict;
    const values = {decoder: words[settings.decoder], done: localised(done), square: squared(square), freedom};
    return `${filled(words.result, values)} ${words[done < runs ? "stopped" : judged]}`;
  }

  const ready = () => (run.textContent = filled(words.run, {count: localised(runs)}));

  /* Starts over with other settings. The lines of the chart stay if the exact distribution is the same. */
  function renew(isSameDistribution) {
    running?.stop();
    running = null;
    if (!isSameDistribution) lines = {};
    status.textContent = "";
    ready();
    show(new Experiment(pair, chosen()));
  }

  async function decodeAll() {
    const experiment = new Experiment(pair, chosen());
    running = experiment;
    run.textContent = words.stop;
    status.textContent = "";
    await experiment.run(() => running === experiment && show(experiment));
    if (running !== experiment) return;
    running = null;
    ready();
    status.textContent = verdict(experiment);
  }

  run.addEventListener("click", () => (running ? running.stop() : decodeAll()));
  for (const one of [decoder, depth, guesses, seed]) one.addEventListener("change", () => renew(true));
  for (const one of [width, temperature]) one.addEventListener("change", () => renew(false));
  renew(false);
}

for (const root of document.querySelectorAll(".lab")) {
  mountLab(root, JSON.parse(root.querySelector("script").textContent));
}
