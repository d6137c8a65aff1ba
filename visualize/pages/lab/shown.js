/* What the lab shows of an experiment: the likeliest ends, rates of accepted guesses, and chi-square as a chart. */

import {draw, filled, localised, make} from "../../viewer/dom.js";
import {nameOf} from "./tables.js";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [330, 150, 40, 8, 18];
const SHOWN = 9;

/* A table. Each row is a list: what its head holds, a list too, then the content of its cells. */
export function tableOf(className, heads, rows) {
  const head = heads.map((text) => make("th", {scope: "col", text}));
  const body = rows.map(([name, ...cells]) =>
    make("tr", {}, make("th", {scope: "row"}, ...name), ...cells.map((cell) => make("td", {}, cell))),
  );
  return make("table", {class: className}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

export const squared = (square) =>
  square === Infinity ? "∞" : square < 100 ? localised(square, 1) : localised(square);

/* The likeliest ends with bars: counted so far, beside what the exact law expects of so many decodes. */
export function ends({law, counts, done, settings}, pair, words) {
  const sorted = [...law].sort(([, one], [, other]) => other - one);
  const rows = sorted.slice(0, SHOWN).map(([end, chance]) => [nameOf(pair, end), chance, counts.get(end) ?? 0]);
  const rest = sorted.length - rows.length;
  if (rest > 0) {
    const sum = (place) => rows.reduce((total, row) => total + row[place], 0);
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

/* Rates of accepted guesses, as counted and by formula. */
export function figures({done, seen, settings, formula, pair}, words) {
  const share = (count, of) => (of ? localised(count / of, 3) : "–");
  const guessed = settings.depth > 0 ? done : 0;
  return tableOf(
    "lab-figures",
    ["", words.seen, words.formula],
    [
      [[words.first], share(seen.first, guessed), localised(formula.first, 3)],
      [[filled(words.filled, {width: settings.width})], share(seen.filled, guessed), localised(formula.filled, 3)],
      [[words.accepted], share(seen.accepted, seen.tried), ""],
      [[words.pass], seen.passes ? localised((done * pair.layers) / seen.passes, 2) : "–", ""],
    ],
  );
}

/* Chi-square against the number of decodes: a line for each decoder that ran, and what a lossless one stays near.
 * lines: {decoder: [[decodes, chi-square], ...]}. */
export function chart({runs, freedom, limit}, lines) {
  const finite = (squares) => squares.filter(([, square]) => square < Infinity);
  const all = Object.values(lines).flatMap((squares) => finite(squares).map(([, square]) => square));
  const top = Math.max(1.3 * limit, 1.05 * Math.max(0, ...all));
  const x = (done) => LEFT + (done / runs) * (WIDTH - LEFT - 4);
  const y = (square) => HEIGHT - BOTTOM - (square / top) * (HEIGHT - BOTTOM - TOP);
  const level = (square, name) => draw("path", {class: name, d: `M${LEFT},${y(square).toFixed(1)}H${WIDTH - 4}`});
  const label = (text, at, height, anchor) => draw("text", {x: at, y: height, "text-anchor": anchor, text});
  const highest = 10 ** Math.floor(Math.log10(top));
  const tick = Math.floor(top / highest) * highest;
  const marks = [...new Set([0, tick / 2, tick])].map((square) =>
    label(localised(square), LEFT - 5, y(square) + 4, "end"),
  );
  const paths = Object.entries(lines).map(([decoder, squares]) => {
    const points = finite(squares).map(([done, square]) => `${x(done).toFixed(1)},${y(square).toFixed(1)}`);
    return draw("path", {class: `lab-line lab-${decoder}`, d: points.length ? `M${points.join("L")}` : ""});
  });
  return draw(
    "svg",
    {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lab-chart", "aria-hidden": "true"},
    level(0, "lab-axis"),
    level(freedom, "lab-level"),
    level(limit, "lab-level lab-limit"),
    ...marks,
    label("0", LEFT, HEIGHT - 4, "middle"),
    label(localised(runs), WIDTH - 4, HEIGHT - 4, "end"),
    ...paths,
  );
}
